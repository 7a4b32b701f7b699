/**
 * Strict base64 (standard alphabet, padding required, no blanks, unused bits zero) with the error texts of the
 * reference. Node's own decoder is lenient: it skips what it does not know, takes URL-safe letters and looks only at
 * the low byte of a character, so its answer is checked before it is believed.
 */

/** Decodes, or throws an Error whose message names the first fault. */
export function decodeBase64(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  if (!isExact(text, bytes)) throw new Error(describeFault(Buffer.from(text, 'utf8')));
  return bytes;
}

/**
 * Whether `bytes` is what a strict decoder makes of `text`. A skipped character shows in the byte count, the last group
 * is encoded again to see its padding and unused bits, and what is left are searches at memory speed.
 */
function isExact(text: string, bytes: Buffer): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  if (text.length % 4 !== 0 || bytes.length !== (text.length / 4) * 3 - padding) return false;
  if (text.includes('-') || text.includes('_') || Buffer.byteLength(text) !== text.length) return false;
  return bytes.toString('base64', bytes.length - (3 - padding)) === text.slice(-4);
}

const PAD = '='.charCodeAt(0);
/** A table, because the fault may be at the end of a message of many megabytes. */
const IS_SYMBOL = new Uint8Array(256);
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')) IS_SYMBOL[byte] = 1;

/** The text for input that is known to be at fault; offsets and symbols are bytes. */
function describeFault(input: Buffer): string {
  const rest = input.length % 4;
  const last = input.at(-1);
  // A single stray byte at the very end, a newline for example, is named before anything else.
  if (rest === 1 && last !== undefined && last !== PAD && !IS_SYMBOL[last]) {
    return invalidSymbol(last, input.length - 1);
  }
  // Padding may only stand in the last group, which is the one after all complete groups but the final one.
  const lastGroup = Math.max(0, input.length - (rest === 0 ? 4 : rest));
  const fault = input.subarray(0, lastGroup).findIndex((byte) => !IS_SYMBOL[byte]);
  if (fault !== -1) return invalidSymbol(input.readUInt8(fault), fault);
  return describeLastGroup(input.subarray(lastGroup), lastGroup);
}

function describeLastGroup(group: Buffer, start: number): string {
  let symbols = 0;
  for (const [index, byte] of group.entries()) {
    const padded = index > symbols;
    if (byte === PAD) {
      if (index < 2) return invalidSymbol(byte, start + index);
    } else if (padded) {
      return invalidSymbol(PAD, start + symbols);
    } else if (IS_SYMBOL[byte]) {
      symbols += 1;
    } else {
      return invalidSymbol(byte, start + index);
    }
  }
  if (symbols < 2) return `Invalid input length: ${start + symbols}`;
  if (group.length < 4) return 'Invalid padding';
  return `Invalid last symbol ${group[symbols - 1]}, offset ${start + symbols - 1}.`;
}

const invalidSymbol = (byte: number, offset: number): string => `Invalid symbol ${byte}, offset ${offset}.`;
