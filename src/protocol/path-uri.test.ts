import { describe, expect, test } from 'vitest';
import { parsePathUri } from './path-uri.ts';

describe('parsePathUri', () => {
  test.each([
    ['file:/tmp/x', 'file:///tmp/x'],
    ['FILE:///tmp/x', 'file:///tmp/x'],
    [' file:///tmp/x ', 'file:///tmp/x'],
    ['file:///tmp/ex\tam\nple', 'file:///tmp/example'],
    ['file:\\\\\\tmp\\x', 'file:///tmp/x'],
    ['file:', 'file:///'],
    ['file:a', 'file:///a'],
    ['file:///a/./b/%2e%2E/c', 'file:///a/c'],
    ['file://localhost/tmp', 'file:///tmp'],
    ['file:///c:/x', 'file:///C:/x'],
    ['file:////c:', 'file:////C:'],
    ['file:///C|/x', 'file:///C:/x'],
    ['file:///cd:/x', 'file:///cd:/x'],
    ['file:///tmp//x/', 'file:///tmp//x/'],
    ['file:///a%ffb%zz', 'file:///a%ffb%zz'],
    ['file:///é b', 'file:///%C3%A9%20b'],
    ['file://host/share', 'file://host/share'],
    ['file:///%00/bad/path/L0M6', 'file:///%00/bad/path/L0M6'],
  ])('%j is %s', (text, uri) => {
    expect(parsePathUri(text)).toBe(uri);
  });

  test.each([
    ['/tmp/x', 'invalid URI: relative URL without a base'],
    ['a', 'invalid URI: relative URL without a base'],
    ['', 'invalid URI: relative URL without a base'],
    ['~/x', 'invalid URI: relative URL without a base'],
    ['file://user@host/x', 'invalid URI: invalid international domain name'],
    ['file://host:80/x', 'invalid URI: invalid international domain name'],
    ['file://[::1/x', 'invalid URI: invalid IPv6 address'],
    ['file://1.2.3.999/x', 'invalid URI: invalid IPv4 address'],
    ['http://', 'invalid URI: empty host'],
    ['http://host:port/', 'invalid URI: invalid port number'],
    ['http://x/y', 'unsupported path URI scheme `http`'],
    ['C:\\x', 'unsupported path URI scheme `c`'],
    ['vscode-remote://a/b', 'unsupported path URI scheme `vscode-remote`'],
    ['file:///w?q=1', 'query parameters are not allowed in path URIs'],
    ['file:///w?', 'query parameters are not allowed in path URIs'],
    ['file:///w?q#f', 'query parameters are not allowed in path URIs'],
    ['file:///w#f?', 'fragments are not allowed in path URIs'],
    ['file:///w#', 'fragments are not allowed in path URIs'],
    ['file:///w/%00', "'file:///w/%00' is invalid on 'linux'"],
    ['file:///w/\0x', "'file:///w/%00x' is invalid on 'linux'"],
    ['file:///%00/bad/path/!!', "'file:///%00/bad/path/!!' is invalid on 'linux'"],
    ['file:///%00/bad/path/QQ==', "'file:///%00/bad/path/QQ==' is invalid on 'linux'"],
  ])('%j is refused: %s', (text, message) => {
    expect(() => parsePathUri(text, 'linux')).toThrow(new Error(message));
  });

  test('a text names the system it is about', () => {
    expect(() => parsePathUri('file:///%00', 'macos')).toThrow("'file:///%00' is invalid on 'macos'");
  });
});
