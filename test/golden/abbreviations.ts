/** What the recordings abbreviate on the client's side, written out. */
const BYTES = /^<((?:[0-9a-f]{2} ?)+)>$/;
const WRITES = /^<(\d+) process\/write requests, ids (\d+)-\d+, (\d+) KiB each, writeId w0\.\.w\d+>$/;

/** The frames a recorded client line stands for; nearly always the line itself. */
export function expandRequest(text: string): (string | Buffer)[] {
  const bytes = BYTES.exec(text)?.[1];
  if (bytes !== undefined) return [Buffer.from(bytes.replaceAll(' ', ''), 'hex')];
  const writes = WRITES.exec(text);
  if (!writes) return [text];
  const [count, firstId, kib] = writes.slice(1).map(Number);
  const chunk = Buffer.alloc((kib ?? 0) * 1024, 'w').toString('base64');
  return Array.from({ length: count ?? 0 }, (_, index) => {
    const params = { processId: 'blk', chunk, writeId: `w${index}` };
    return JSON.stringify({ id: (firstId ?? 0) + index, method: 'process/write', params });
  });
}
