import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { execToClient, execToServer } from './exec/contract.ts';
import { toJsonSchema } from './json-schema.ts';
import { printProtocol } from './print.ts';

const printed = printProtocol();

test.each(Object.entries(printed))('docs/%s is what the contract prints', (name, content) => {
  expect(readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')).toBe(content);
});

test('every method has a section and every link an object', () => {
  const text = printed['protocol.md'] ?? '';
  for (const method of [...Object.keys(execToServer), ...Object.keys(execToClient)]) {
    expect(text).toContain(`\n### ${method}\n`);
  }
  const headings = [...text.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading?.toLowerCase());
  const links = [...text.matchAll(/\]\(#(.+?)\)/g)].map(([, link]) => link);
  expect(links.filter((link) => !headings.includes(link))).toEqual([]);
});

test('every reference inside the JSON Schema leads somewhere', () => {
  const schema = toJsonSchema('test', [execToServer, execToClient]);
  const names = Object.keys(schema.$defs ?? {}).map((name) => `#/$defs/${name.replaceAll('/', '~1')}`);
  const references = [...JSON.stringify(schema).matchAll(/"\$ref":"(.+?)"/g)].map(([, reference]) => reference ?? '');
  expect(references.length).toBeGreaterThan(20);
  expect(references.filter((reference) => !names.includes(reference))).toEqual([]);
});

test('the JSON Schema describes the wire form and marks what is ours', () => {
  expect(toJsonSchema('test', [execToServer])).toMatchObject({
    $defs: {
      'process/write.params': { properties: { chunk: { type: 'string', contentEncoding: 'base64' } } },
      'process/read.params': {
        properties: { afterSeq: { anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }] } },
      },
      'process/read.result': { properties: { lostBytes: { type: 'integer', minimum: 0, 'x-extension': true } } },
      'initialize.params': { required: ['clientName'] },
      'process/start.params': {
        properties: {
          managedNetwork: {
            anyOf: [{ properties: { loopbackPorts: { items: { type: 'integer' } } } }, { type: 'null' }],
          },
        },
      },
    },
  });
});
