/** Schemas of the file system. */
import * as z from 'zod/mini';
import { bytes, flag, i64, note, nullish, pathUri, struct, u64 } from '../values.ts';
import { sandbox as sandboxObject } from './sandbox.ts';

const sandbox = nullish(sandboxObject);
const followSymlinks = note('False refuses symbolic links anywhere in the path.', flag(true));
const handleId = note('Chosen by the client, at most 32 bytes; belongs to the connection.', z.string());

export const readFileParams = z.object({ path: pathUri, followSymlinks, sandbox });
export const readFileResult = z.object({ dataBase64: bytes });

export const openParams = z.object({
  handleId,
  path: pathUri,
  mode: note('`replace` truncates at once.', z._default(z.enum(['read', 'replace']), 'read')),
  sandbox,
});
export const openResult = z.object({ handleId: z.string() });

export const readBlockParams = z.object({ handleId, offset: u64, len: note('1 to 1048576.', u64) });
export const readBlockResult = z.object({
  chunk: bytes,
  eof: note('Fewer than `len` bytes could be read.', z.boolean()),
});

export const writeBlockParams = z.object({ handleId, offset: u64, chunk: note('1 to 1048576 bytes.', bytes) });

export const closeParams = z.object({ handleId });

export const writeFileParams = z.object({
  path: pathUri,
  // Not `bytes`: faults in it are reported by the handler, with another code and text.
  dataBase64: note('Base64.', z.string()),
  followSymlinks,
  sandbox,
});

export const createDirectoryParams = z.object({ path: pathUri, recursive: flag(true), followSymlinks, sandbox });

export const getMetadataParams = z.object({ path: pathUri, followSymlinks, sandbox });
export const getMetadataResult = z.object({
  isDirectory: z.boolean(),
  isFile: z.boolean(),
  isSymlink: note('The other members then describe the target.', z.boolean()),
  size: u64,
  createdAtMs: note('0 when unknown.', i64),
  modifiedAtMs: i64,
});

export const canonicalizeParams = z.object({ path: pathUri, sandbox });
export const canonicalizeResult = z.object({ path: pathUri });

export const readDirectoryParams = z.object({ path: pathUri, sandbox });
export const readDirectoryResult = z.object({
  entries: note(
    'In no order; dangling links are left out.',
    z.array(
      struct('DirectoryEntry', {
        fileName: note('What is not UTF-8 shows as U+FFFD.', z.string()),
        isDirectory: z.boolean(),
        isFile: z.boolean(),
      }),
    ),
  ),
});

export const walkParams = z.object({
  path: pathUri,
  options: struct('WalkOptions', {
    maxDepth: note('At most 64.', u64),
    maxDirectories: note('1 to 10000.', u64),
    maxEntries: note('1 to 50000.', u64),
    followDirectorySymlinks: z.boolean(),
    pruneHiddenDirectories: z._default(z.boolean(), false),
  }),
  sandbox,
});
export const walkResult = z.object({
  entries: z.array(struct('WalkEntry', { path: pathUri, kind: z.enum(['directory', 'file']) })),
  errors: z.array(struct('WalkError', { path: pathUri, message: z.string() })),
  truncated: z.boolean(),
});

export const removeParams = z.object({
  path: pathUri,
  recursive: flag(true),
  force: note('A path that does not exist is no error.', flag(true)),
  followSymlinks,
  sandbox,
});

export const copyParams = z.object({
  sourcePath: pathUri,
  destinationPath: pathUri,
  recursive: note('Required for directories.', z.boolean()),
  sandbox,
});

export const watchMissingParams = z.object({
  watchId: note('Greater than every one before it on the connection.', u64),
  missing: note('At most 64; empty cancels.', z.array(pathUri)),
  present: nullish(pathUri),
});
export const watchMissingResult = z.object({ watching: z.boolean() });

export const missingChangedParams = z.object({ watchId: u64 });
