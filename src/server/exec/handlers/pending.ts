/** Methods whose rows exist and whose work does not yet. They decode and gate like the rest, then say so. */
import { ExecError } from '../../../protocol/errors.ts';
import type { execToServer } from '../../../protocol/exec/contract.ts';
import type { Handlers } from '../../../rpc/dispatcher.ts';
import type { ExecContext } from '../context.ts';

function pending(method: string): () => never {
  return () => {
    throw new ExecError('internal', `${method} is not implemented yet`);
  };
}

type All = Handlers<typeof execToServer, ExecContext>;
type Done = 'initialize' | `environment/${string}` | `process/${string}` | `admin/${string}`;

export const pendingHandlers: { [M in Exclude<keyof All, Extract<keyof All, Done>>]: All[M] } = {
  'environmentConfig/read': pending('environmentConfig/read'),
  'fs/readFile': pending('fs/readFile'),
  'fs/open': pending('fs/open'),
  'fs/readBlock': pending('fs/readBlock'),
  'fs/writeBlock': pending('fs/writeBlock'),
  'fs/close': pending('fs/close'),
  'fs/writeFile': pending('fs/writeFile'),
  'fs/createDirectory': pending('fs/createDirectory'),
  'fs/getMetadata': pending('fs/getMetadata'),
  'fs/canonicalize': pending('fs/canonicalize'),
  'fs/readDirectory': pending('fs/readDirectory'),
  'fs/walk': pending('fs/walk'),
  'fs/remove': pending('fs/remove'),
  'fs/copy': pending('fs/copy'),
  'fs/watchMissing': pending('fs/watchMissing'),
  'capabilityRoots/discoverV1': pending('capabilityRoots/discoverV1'),
  'capabilities/discoverV2': pending('capabilities/discoverV2'),
  'http/request': pending('http/request'),
};
