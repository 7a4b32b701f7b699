/** What must not compile. The compiler is the test: `npm run typecheck` fails when an expected error is not there. */
import { expectTypeOf, test } from 'vitest';
import type { PathUri } from '../path-uri.ts';
import type { Notifications, Params, Requests, Result, WireParams, WireResult } from '../table.ts';
import type { execToClient, execToServer } from './contract.ts';

type ToServer = typeof execToServer;
type ToClient = typeof execToClient;

test('a caller writes the wire form and a handler gets decoded values', () => {
  expectTypeOf<WireParams<ToServer, 'process/write'>>().toEqualTypeOf<{
    processId: string;
    chunk: string;
    writeId: string;
  }>();
  expectTypeOf<Params<ToServer, 'process/write'>>().toEqualTypeOf<{
    processId: string;
    chunk: Uint8Array;
    writeId: string;
  }>();
  expectTypeOf<WireParams<ToServer, 'fs/copy'>['sourcePath']>().toEqualTypeOf<string>();
  expectTypeOf<Params<ToServer, 'fs/copy'>['sourcePath']>().toEqualTypeOf<PathUri>();
  expectTypeOf<Params<ToServer, 'process/start'>['pipeStdin']>().toEqualTypeOf<boolean>();
  expectTypeOf<Params<ToServer, 'fs/remove'>['force']>().toEqualTypeOf<boolean>();
  expectTypeOf<Params<ToServer, 'process/read'>['waitMs']>().toEqualTypeOf<number | null | undefined>();
  expectTypeOf<WireParams<ToServer, 'environment/status'>>().toEqualTypeOf<null>();
});

test('results are known on both sides', () => {
  expectTypeOf<WireResult<ToServer, 'process/read'>['chunks'][number]['chunk']>().toEqualTypeOf<string>();
  expectTypeOf<Result<ToServer, 'process/read'>['chunks'][number]['chunk']>().toEqualTypeOf<Uint8Array>();
  expectTypeOf<Result<ToServer, 'process/read'>['lostBytes']>().toEqualTypeOf<number | undefined>();
  expectTypeOf<Result<ToServer, 'environment/info'>['capabilities']['windowsMxc']>().toEqualTypeOf<boolean>();
  expectTypeOf<Result<ToClient, 'network/policyRequest'>['decision']['type']>().toEqualTypeOf<
    'allow' | 'deny' | 'ask'
  >();
});

test('requests and notifications are told apart', () => {
  expectTypeOf<Notifications<ToServer>>().toEqualTypeOf<'initialized'>();
  expectTypeOf<Requests<ToClient>>().toEqualTypeOf<'network/policyRequest'>();
  expectTypeOf<'process/output'>().toExtend<Notifications<ToClient>>();
  expectTypeOf<'process/output'>().not.toExtend<Requests<ToClient>>();
});

test('a wrong method, member or value does not compile', () => {
  // @ts-expect-error there is no such method
  expectTypeOf<WireParams<ToServer, 'process/kill'>>().not.toBeAny();
  // @ts-expect-error a method of the other direction
  expectTypeOf<WireParams<ToServer, 'process/output'>>().not.toBeAny();
  // @ts-expect-error a member that is not there
  expectTypeOf<Params<ToServer, 'process/terminate'>['pid']>().not.toBeAny();

  // @ts-expect-error a required member is missing
  const short: WireParams<ToServer, 'process/write'> = { processId: 'p', chunk: '' };
  // @ts-expect-error bytes do not travel
  const decoded: WireParams<ToServer, 'process/write'>['chunk'] = new Uint8Array();
  // @ts-expect-error a string is not a path until it was parsed
  const path: Params<ToServer, 'fs/readFile'>['path'] = 'file:///x';
  // @ts-expect-error not one of the signals
  const signal: WireParams<ToServer, 'process/signal'>['signal'] = 'hup';
  // @ts-expect-error a result that lacks a member
  const result: WireResult<ToServer, 'process/terminate'> = {};
  expectTypeOf([short, decoded, path, signal, result]).toBeArray();
});
