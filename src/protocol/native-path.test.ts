import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExecError } from './errors.ts';
import { fromNativePath, joinPathUri, toNativePath } from './native-path.ts';
import { type HostOs, parsePathUri } from './path-uri.ts';

const native = (uri: string, os: HostOs = 'linux'): string | Buffer => toNativePath(parsePathUri(uri, os), os);

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ExecError && error.kind === 'invalidRequest') return error.message;
    throw error;
  }
  return 'accepted';
}

/** What is left of a path after lexical clean-up, as bytes. */
function cleaned(path: Buffer): Buffer {
  const kept: string[] = [];
  for (const name of path.toString('latin1').split('/')) {
    if (name === '..') kept.pop();
    else if (name !== '' && name !== '.') kept.push(name);
  }
  return Buffer.from(`/${kept.join('/')}`, 'latin1');
}

const bytePath = fc
  .array(
    fc.oneof(
      fc.uint8Array({ min: 1, minLength: 0, maxLength: 6 }).map((name) => Buffer.from(name)),
      fc
        .constantFrom('.', '..', '', 'C:', 'c|', 'a', '%41', '%', 'é', ' ', '\\', 'x:y', '~', '%00')
        .map((name) => Buffer.from(name)),
    ),
    { maxLength: 6 },
  )
  .map((names) =>
    Buffer.concat(names.flatMap((name) => [Buffer.from('/'), name]).concat(Buffer.from(names.length ? '' : '/'))),
  );

describe('toNativePath', () => {
  test.each([
    ['file:', '/'],
    ['file:a', '/a'],
    ['file:///tmp/w/a.txt/', '/tmp/w/a.txt'],
    ['file:///tmp//w', '/tmp/w'],
    ['file:////tmp/w', '/tmp/w'],
    ['file:///tmp/w%2Fx', '/tmp/w/x'],
    ['file:///tmp/%zz', '/tmp/%zz'],
    ['file:///tmp/w/link/..', '/tmp/w'],
    ['file:///a%20b%23%3F%25', '/a b#?%'],
    ['file:///%C3%A9', '/é'],
  ])('%s is %s', (uri, path) => {
    expect(native(uri)).toBe(path);
  });

  test('a path that is not UTF-8 is bytes', () => {
    expect(native('file:///w/a%ff.txt')).toEqual(Buffer.from('/w/a\xff.txt', 'latin1'));
  });

  test.each([
    ['file:///C:/x', "'file:///C:/x' is invalid on 'linux'"],
    ['file:///c:/x', "'file:///C:/x' is invalid on 'linux'"],
    ['file://host/share/x', "'file://host/share/x' is invalid on 'linux'"],
  ])('%s does not fit here', (uri, message) => {
    expect(refusal(() => native(uri))).toBe(message);
  });

  test('the opaque form of an ordinary path does not fit', () => {
    const uri = 'file:///%00/bad/path/L3RtcC9leGFtcGxlL3c';
    expect(refusal(() => native(uri))).toBe(`'${uri}' is invalid on 'linux'`);
  });

  test.each(['', 'AA', 'cmVsYXRpdmU', 'L0M6Ly4uL0M6'])('the opaque payload %j does not fit', (payload) => {
    const uri = `file:///%00/bad/path/${payload}`;
    expect(refusal(() => native(uri))).toBe(`'${uri}' is invalid on 'linux'`);
  });

  test.each([
    ['file:///C:/x/y.txt', 'C:\\x\\y.txt'],
    ['file:///c:/', 'C:\\'],
    ['file://server/share/a%20b', '\\\\server\\share\\a b'],
  ])('%s is %s on Windows', (uri, path) => {
    expect(native(uri, 'windows')).toBe(path);
  });

  test.each(['file:///tmp/x', 'file:///', 'file://server/', 'file:///C:/%ff'])('%s does not fit on Windows', (uri) => {
    expect(refusal(() => native(uri, 'windows'))).toContain("is invalid on 'windows'");
  });
});

describe('fromNativePath', () => {
  test('what a URI could misread is percent-encoded and nothing else is', () => {
    expect(fromNativePath('/w/sp ace é[x]^|`{}"<>\'!$&()*+,;=@:~.txt', 'linux')).toBe(
      "file:///w/sp%20ace%20%C3%A9[x]^|%60%7B%7D%22%3C%3E'!$&()*+,;=@:~.txt",
    );
    expect(fromNativePath('/w/back\\slash', 'linux')).toBe('file:///w/back%5Cslash');
    expect(fromNativePath('/w/per%41cent', 'linux')).toBe('file:///w/per%2541cent');
    expect(fromNativePath('/w/new\nline\x7f', 'linux')).toBe('file:///w/new%0Aline%7F');
    expect(fromNativePath(Buffer.from('/w/\xff', 'latin1'), 'linux')).toBe('file:///w/%FF');
    expect(fromNativePath('/w/C:', 'linux')).toBe('file:///w/C:');
    expect(fromNativePath('/', 'linux')).toBe('file:///');
  });

  test.each(['/C:', '/C:/x', '/c|/x', Buffer.from('/C:/\xff', 'latin1')])('%s needs the opaque form', (path) => {
    const uri = fromNativePath(path, 'linux');
    expect(uri).toMatch(/^file:\/\/\/%00\/bad\/path\/[\w-]+$/);
    expect(parsePathUri(uri)).toBe(uri);
    expect(toNativePath(uri, 'linux')).toEqual(path);
  });

  test.each(['', 'a', './a', '/a\0b'])('%j is no absolute path', (path) => {
    expect(refusal(() => fromNativePath(path, 'linux'))).toContain('is not an absolute path');
  });

  test('any path of bytes comes back, cleaned up', () => {
    fc.assert(
      fc.property(bytePath, (path) => {
        const uri = fromNativePath(path, 'linux');
        expect(parsePathUri(uri)).toBe(uri);
        expect(Buffer.from(toNativePath(uri, 'linux'))).toEqual(cleaned(path));
      }),
      { numRuns: 1_000 },
    );
  });

  test('a URI made from a native path and back is canonical', () => {
    const segment = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'abC:|%2Ff0 .é\\?#~'), maxLength: 5 }),
      fc.constantFrom('%2e', '..', '%ff', '%C3%A9', '%2F', 'C:'),
    );
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 5 }), (segments) => {
        const text = `file:///${segments.join('/').replace(/[?#]/g, '')}`;
        if (/%00/.test(text)) return;
        const uri = parsePathUri(text);
        expect(parsePathUri(uri)).toBe(uri);
        if (refusal(() => toNativePath(uri, 'linux')) !== 'accepted') {
          expect(uri).toMatch(/^file:\/\/\/+[A-Z]:(\/|$)/);
          return;
        }
        const again = fromNativePath(toNativePath(uri, 'linux'), 'linux');
        expect(fromNativePath(toNativePath(again, 'linux'), 'linux')).toBe(again);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ['C:\\x\\..\\y', 'file:///C:/y'],
    ['c:/x', 'file:///C:/x'],
    ['\\\\Server\\share\\a b', 'file://server/share/a%20b'],
  ])('%s becomes %s on Windows', (path, uri) => {
    expect(fromNativePath(path, 'windows')).toBe(uri);
  });

  test('a Windows path may come as UTF-8 bytes', () => {
    expect(fromNativePath(new TextEncoder().encode('C:\\é'), 'windows')).toBe('file:///C:/%C3%A9');
  });

  test.each(['\\\\?\\C:\\x', '\\\\.\\pipe\\x', 'C:\\\ud800'])('%j needs the opaque form on Windows', (path) => {
    const uri = fromNativePath(path, 'windows');
    expect(uri).toMatch(/^file:\/\/\/%00\/bad\/path\//);
    expect(toNativePath(parsePathUri(uri), 'windows')).toBe(path);
  });

  test.each(['x', '\\x', 'C:x'])('%s is no absolute path on Windows', (path) => {
    expect(refusal(() => fromNativePath(path, 'windows'))).toContain('is not an absolute path');
  });
});

describe('joinPathUri', () => {
  const join = (base: string, text: string): string => joinPathUri(parsePathUri(base), text, 'linux');

  test.each([
    ['file:///a/b', 'c', 'file:///a/b/c'],
    ['file:///a/b/', './c//d', 'file:///a/b/c/d'],
    ['file:///a/b', '../../../c', 'file:///c'],
    ['file:///a/b', '/c', 'file:///c'],
    ['file:///a/b', '', 'file:///a/b'],
    ['file:///a', '50%?#\\x', 'file:///a/50%25%3F%23%5Cx'],
    ['file:///a%ff', 'b', 'file:///a%ff/b'],
    ['file:///C:/a', '..\\..\\b', 'file:///C:/b'],
    ['file:///C:/a', 'D:\\b', 'file:///D:/b'],
    ['file://server/share/a', '../../b', 'file://server/share/b'],
  ])('%s and %j give %s', (base, text, joined) => {
    expect(join(base, text)).toBe(joined);
  });

  test('a name that reads as a drive letter at the root takes the opaque form', () => {
    expect(toNativePath(joinPathUri(parsePathUri('file:///'), 'C:', 'linux'), 'linux')).toBe('/C:');
  });

  test('NUL and opaque URIs are refused', () => {
    expect(refusal(() => join('file:///a', 'b\0'))).toBe("'file:///a' is invalid on 'linux'");
    const opaque = fromNativePath('/C:', 'linux');
    expect(refusal(() => join(opaque, 'x'))).toBe(`'${opaque}' is invalid on 'linux'`);
  });
});
