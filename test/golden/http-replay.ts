/** Replays the recordings of the HTTP surface: each client line is one request on a connection of its own. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { Mismatch } from './compare.ts';
import { parseObject } from './json.ts';
import { type GoldenAuth, startGoldenServer } from './server.ts';
import { makeToken, SIGNED_AUTH } from './tokens.ts';
import type { Transcript } from './transcript.ts';

const AUTH: Readonly<Record<string, GoldenAuth | undefined>> = {
  'http-surface': undefined,
  'ws-auth-capability-token': { type: 'capability-token', token: 'sekret-token-0123456789' },
  'ws-auth-signed-bearer': SIGNED_AUTH,
};

export const isHttpScenario = (scenario: string): boolean => Object.hasOwn(AUTH, scenario);

export async function replayHttp({ scenario, steps }: Transcript): Promise<void> {
  const auth = AUTH[scenario];
  await using server = await startGoldenServer(auth ? { auth } : {});
  let actual = '';
  for (const { line, dir, text } of steps) {
    if (dir === 'c2s') actual = await send(server.url ?? '', text);
    else if (actual !== text) throw new Mismatch(`line ${line}: the HTTP answer differs`, text, actual);
  }
}

const UPGRADE_HEADERS = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** Sends `METHOD PATH [upgrade] {headers}` and puts the answer in the words of the recording it came from. */
async function send(url: string, line: string): Promise<string> {
  const [, method = '', path = '', upgrade, headers = ''] = /^(\S+) (\S+) (upgrade )?(\{.*\})$/.exec(line) ?? [];
  const filled = headers.replace(/<jwt (\w+)>/g, (_, name: string) => makeToken(name));
  const given = Object.entries(parseObject(filled) ?? {}).map(([name, value]) => [name, String(value)]);
  const outgoing = request(new URL(path, url.replace('ws:', 'http:')), {
    method,
    headers: { ...(upgrade && UPGRADE_HEADERS), ...Object.fromEntries(given) },
    agent: false,
  });
  outgoing.end();
  const answer = await Promise.race([
    once(outgoing, 'response').then(([response]) => readAnswer(response)),
    once(outgoing, 'upgrade').then(([, socket]) => hangUp(socket)),
  ]);
  return upgrade ? inAuthWords(answer) : inSurfaceWords(answer);
}

type HttpAnswer = { status: number; body: string; headers: IncomingHttpHeaders };

async function readAnswer(response: IncomingMessage): Promise<HttpAnswer> {
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk;
  return { status: response.statusCode ?? 0, body, headers: response.headers };
}

async function hangUp(socket: Socket): Promise<HttpAnswer> {
  socket.destroy();
  await once(socket, 'close');
  return { status: 101, body: '', headers: {} };
}

function inSurfaceWords({ status, body, headers }: HttpAnswer): string {
  if (status === 101) return JSON.stringify({ status, upgraded: true });
  return JSON.stringify({ status, body, allow: headers.allow, contentType: headers['content-type'] });
}

function inAuthWords({ status, body, headers }: HttpAnswer): string {
  if (status === 101) return '101';
  const rest = { ct: headers['content-type'], www: headers['www-authenticate'] };
  return `${status} ${JSON.stringify(body)} ${JSON.stringify(rest)}`;
}
