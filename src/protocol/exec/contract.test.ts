import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Shape, shapeOf } from '../shape.ts';
import type { Row, Table } from '../table.ts';
import { execToClient, execToServer } from './contract.ts';

type Recorded = { side: 'toServer' | 'toClient'; method: string; params?: unknown; result?: unknown };

const sides: Record<Recorded['side'], Table> = { toServer: execToServer, toClient: execToClient };
const recorded = readFileSync(new URL('./contract.recorded.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded);

function rowOf({ side, method }: Recorded): Row {
  const row = sides[side][method];
  if (row === undefined) throw new Error(`no row for ${method}`);
  return row;
}

/** Members in another order than declared, or unknown ones, by path. */
function misplaced(shape: Shape, value: unknown, path = ''): string[] {
  if (value === null || typeof value !== 'object') return [];
  switch (shape.type) {
    case 'nullable':
      return misplaced(shape.inner, value, path);
    case 'list':
      return Object.values(value).flatMap((item) => misplaced(shape.item, item, `${path}[]`));
    case 'struct': {
      const declared = shape.members.map((member) => member.name);
      const expected = declared.filter((name) => Object.hasOwn(value, name));
      const here = Object.keys(value).join() === expected.join() ? [] : [`${path}: ${Object.keys(value).join()}`];
      const inner = shape.members.flatMap(({ name, shape: member }) =>
        misplaced(member, Object.getOwnPropertyDescriptor(value, name)?.value, `${path}.${name}`),
      );
      return [...here, ...inner];
    }
    default:
      return [];
  }
}

describe('the exec contract', () => {
  const requests = (side: Table) => Object.keys(side).filter((method) => side[method]?.result !== undefined);

  test('has every request of the reference as stock, and our own as extensions', () => {
    const stock = [
      ['initialize', 'environment/info', 'environment/status', 'environmentConfig/read'],
      ['process/start', 'process/read', 'process/write', 'process/signal', 'process/terminate'],
      ['fs/readFile', 'fs/open', 'fs/readBlock', 'fs/writeBlock', 'fs/close', 'fs/writeFile'],
      ['fs/createDirectory', 'fs/getMetadata', 'fs/canonicalize', 'fs/readDirectory', 'fs/walk', 'fs/remove'],
      ['fs/copy', 'fs/watchMissing', 'capabilityRoots/discoverV1', 'capabilities/discoverV2', 'http/request'],
    ];
    const since = (kind: string): string[] =>
      requests(execToServer).filter((method) => sides.toServer[method]?.since === kind);
    expect(new Set(since('stock'))).toEqual(new Set(stock.flat()));
    expect(since('extension')).toEqual([
      ...['process/resize', 'process/closeStdin', 'process/flow', 'process/list'],
      ...['admin/processes', 'admin/terminate'],
    ]);
    expect(requests(execToClient)).toEqual(['network/policyRequest']);
  });

  test("lets exactly the reference's control methods overtake", () => {
    const control = requests(execToServer).filter(
      (method) => sides.toServer[method]?.since === 'stock' && sides.toServer[method]?.lane === 'control',
    );
    const stock = ['environment/info', 'environment/status', 'process/signal', 'process/terminate', 'fs/close'];
    expect(new Set(control)).toEqual(new Set(stock));
  });

  test('names a family for everything that waits for the handshake', () => {
    const without = Object.keys(execToServer).filter((method) => sides.toServer[method]?.family === undefined);
    expect(without).toEqual(['initialize', 'initialized']);
  });

  test.each([
    ['initialize', 2],
    ['process/start', 14],
    ['process/read', 4],
    ['process/write', 3],
    ['process/signal', 2],
    ['process/terminate', 1],
    ['fs/readFile', 3],
    ['fs/open', 4],
    ['fs/readBlock', 3],
    ['fs/writeBlock', 3],
    ['fs/close', 1],
    ['fs/writeFile', 4],
    ['fs/createDirectory', 4],
    ['fs/getMetadata', 3],
    ['fs/canonicalize', 2],
    ['fs/readDirectory', 2],
    ['fs/walk', 3],
    ['fs/remove', 5],
    ['fs/copy', 4],
    ['fs/watchMissing', 3],
    ['http/request', 8],
    ['environmentConfig/read', 3],
    ['capabilityRoots/discoverV1', 1],
    ['capabilities/discoverV2', 2],
  ] as const)('%s has the %i members of the reference', (method, count) => {
    const shape = shapeOf(execToServer[method].params);
    const members = shape.type === 'struct' ? shape.members : [];
    expect(members.filter((member) => !member.isExtension)).toHaveLength(count);
  });

  test.each([
    ['fs/readFile', 10],
    ['capabilities/discoverV2', 9],
  ] as const)('the sandbox of %s has the %i members of the reference', (method, count) => {
    const shape = shapeOf(execToServer[method].params.shape.sandbox);
    expect(shape.type === 'nullable' && shape.inner.type === 'struct' && shape.inner.members.length).toBe(count);
  });
});

describe('recorded messages', () => {
  const toClient = recorded.filter((message) => message.side === 'toClient' && 'params' in message);
  const withResult = recorded.filter((message) => 'result' in message);

  test('there are many of them', () => {
    expect(toClient.length).toBeGreaterThan(6);
    expect(withResult.length).toBeGreaterThan(35);
  });

  test.each(toClient)('the params of $method are accepted and in order: $params', (message) => {
    const { params } = rowOf(message);
    expect(params.safeParse(message.params).error?.issues).toBeUndefined();
    expect(misplaced(shapeOf(params), message.params)).toEqual([]);
  });

  test.each(withResult)('the result of $method is accepted and in order: $result', (message) => {
    const { result } = rowOf(message);
    if (result === undefined) throw new Error('a notification has no result');
    expect(result.safeParse(message.result).error?.issues).toBeUndefined();
    expect(misplaced(shapeOf(result), message.result)).toEqual([]);
  });
});

describe('decoded values', () => {
  test('bytes, paths and defaults are filled in', () => {
    expect(execToServer['process/write'].params.parse({ processId: 'p', chunk: 'aGk=', writeId: '1' })).toEqual({
      processId: 'p',
      chunk: Buffer.from('hi'),
      writeId: '1',
    });
    expect(execToServer['fs/remove'].params.parse({ path: 'file:/c:/a/../b', recursive: null, force: false })).toEqual({
      path: 'file:///C:/b',
      recursive: true,
      force: false,
      followSymlinks: true,
    });
    expect(execToServer['fs/open'].params.parse({ handleId: 'h', path: 'file:///a' })).toMatchObject({ mode: 'read' });
  });

  test('older names inside permissions are replaced by today', () => {
    const permissions = (access: string, kind: string) => ({
      type: 'managed',
      file_system: { type: 'restricted', entries: [{ path: { type: 'special', value: { kind } }, access }] },
      network: 'enabled',
    });
    const schema = execToServer['fs/readFile'].params;
    const decoded = schema.parse({
      path: 'file:///a',
      sandbox: { permissions: permissions('none', 'current_working_directory'), windowsSandboxLevel: 'disabled' },
    });
    expect(decoded.sandbox?.permissions).toEqual(permissions('deny', 'project_roots'));
  });

  test('a server that says little about itself is understood', () => {
    const info = execToServer['environment/info'].result.parse({ shell: { name: 'sh', path: '/bin/sh' } });
    expect(info.capabilities.fsWatchMissing).toBe(false);
    expect(info.temporaryDirectories).toEqual([]);
    expect(info.extensions).toBeUndefined();
  });
});
