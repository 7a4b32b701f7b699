/**
 * A recording, one JSON object a line: first `scenario` and `note`, then what each side sent. Abbreviations of the
 * recording are written out here, so that the replayer never meets one in an answer.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { isObject, type Json, type JsonObject, parseObject } from './json.ts';

export type Step = {
  /** 1-based line of the recording, for messages about it. */
  line: number;
  dir: 'c2s' | 's2c';
  /** The connection it belongs to; recordings with one connection do not name it. */
  conn: string;
  binary: boolean;
  /** What was on the wire, or a description in angle brackets of what cannot be written down. */
  text: string;
};

export type Transcript = { scenario: string; note: string; steps: Step[] };

const FOLDER = new URL('./core/', import.meta.url);

export function scenarioNames(): string[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.jsonl'));
  return names.map((name) => name.slice(0, -'.jsonl'.length)).sort();
}

export function readTranscript(scenario: string): Transcript {
  return parseTranscript(readFileSync(new URL(`${scenario}.jsonl`, FOLDER), 'utf8'));
}

export function parseTranscript(file: string): Transcript {
  const [header = '', ...lines] = file.trimEnd().split('\n');
  const { scenario, note } = parseObject(header) ?? {};
  if (typeof scenario !== 'string' || typeof note !== 'string') throw new Error('a recording begins with its name');
  return { scenario, note, steps: lines.map((line, index) => parseStep(line, index + 2)) };
}

function parseStep(text: string, line: number): Step {
  const { dir, conn, binary, msg } = parseObject(text) ?? {};
  if ((dir !== 'c2s' && dir !== 's2c') || msg === undefined) throw new Error(`line ${line} is not a step`);
  return {
    line,
    dir,
    conn: typeof conn === 'string' ? conn : 'A',
    binary: binary === true,
    text: isRaw(msg) ? msg.raw : JSON.stringify(msg).replace(ABBREVIATED_CHUNK, expandChunk),
  };
}

function isRaw(message: Json): message is JsonObject & { raw: string } {
  return isObject(message) && typeof message.raw === 'string' && Object.keys(message).length === 1;
}

// Only process-large-output abbreviates chunks, and its programs print nothing but x.
const ABBREVIATED_CHUNK = /<base64 of (\d+) bytes>/g;
const expandChunk = (_: string, size: string): string => Buffer.alloc(Number(size), 'x').toString('base64');
