/** A server that says what a recording says: the replayer must be content with it, and with no change to it. */
import { type JsonObject, parseObject } from './json.ts';
import type { GoldenServer } from './server.ts';
import type { Transcript } from './transcript.ts';
import type { Wire, WireEvents } from './wire.ts';

const SESSION_ID = '00000000-0000-4000-8000-000000000000';

/** Answers each client line with the server lines that follow it, once all lines before have been answered. */
export function playback({ steps }: Transcript): GoldenServer {
  let at = 0;
  const wires = new Map<string, WireEvents>();
  const say = (): void => {
    for (let step = steps[at]; step?.dir === 's2c'; step = steps[at]) {
      at += 1;
      const wire = wires.get(step.conn);
      const close = /^<close (\d+)>$/.exec(step.text)?.[1];
      if (close === undefined) wire?.text(step.text);
      else wire?.closed(close);
    }
  };
  const hear = (wire: WireEvents, text: string): void => {
    const message = parseObject(text);
    if (String(message?.id).startsWith('golden-')) {
      answerHarness(wire, message ?? {});
      return;
    }
    if (message?.method === 'initialized' && steps[at]?.dir === 'c2s' && steps[at]?.text !== text) return;
    at += 1;
    say();
  };
  return {
    kind: 'ours',
    spawner: undefined,
    url: undefined,
    home: '',
    connect: async (events): Promise<Wire> => {
      wires.set(steps.find(({ conn }) => !wires.has(conn))?.conn ?? 'A', events);
      return {
        label: 'exec-server websocket 127.0.0.1:40000',
        send: (data) => hear(events, data.toString()),
        drop: async () => {},
      };
    },
    exitStatus: async () => 0,
    children: () => [],
    [Symbol.asyncDispose]: async () => {},
  };
}

function answerHarness(wire: WireEvents, { id = null, method }: JsonObject): void {
  const result = method === 'initialize' ? { sessionId: SESSION_ID } : { status: 'ready' };
  wire.text(JSON.stringify({ id, result }));
}
