/**
 * Schemas of a sandbox intent, as files and processes carry it. Names are camelCase outside `permissions` and
 * snake_case inside, as in the reference. Whether an intent can be honoured is not asked here.
 */
import * as z from 'zod/mini';
import { facts, looseStruct, nonZero, note, nullish, pathUri, struct } from '../values.ts';

const network = z.enum(['restricted', 'enabled']);

const specialPath = z.pipe(
  z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('root') }),
      z.object({ kind: z.literal('minimal') }),
      z.object({ kind: z.literal('current_working_directory'), subpath: nullish(z.string()) }),
      z.object({ kind: z.literal('project_roots'), subpath: nullish(z.string()) }),
      z.object({ kind: z.literal('tmpdir') }),
      z.object({ kind: z.literal('slash_tmp') }),
      z.object({ kind: z.literal('unknown'), path: z.string(), subpath: nullish(z.string()) }),
    ])
    .register(facts, { name: 'FileSystemSpecialPath' }),
  // The older name of the same thing.
  z.transform((path) =>
    path.kind === 'current_working_directory' ? { ...path, kind: 'project_roots' as const } : path,
  ),
);

const entryPath = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('path'), path: pathUri }),
    z.object({ type: z.literal('glob_pattern'), pattern: z.string() }),
    z.object({ type: z.literal('special'), value: specialPath }),
  ])
  .register(facts, { name: 'FileSystemPath' });

const entry = struct('FileSystemSandboxEntry', {
  path: entryPath,
  access: note(
    '`none` is an older name of `deny`.',
    z.pipe(
      z.enum(['read', 'write', 'deny', 'none']),
      z.transform((access) => (access === 'none' ? 'deny' : access)),
    ),
  ),
  missing_path_behavior: nullish(z.enum(['skip'])),
});

const fileSystem = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('restricted'),
      entries: note('The most specific path wins; among equals deny, then write, then read.', z.array(entry)),
      glob_scan_max_depth: nullish(nonZero),
    }),
    z.object({ type: z.literal('unrestricted') }),
  ])
  .register(facts, { name: 'ManagedFileSystemPermissions' });

const permissions = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('managed'), file_system: fileSystem, network }),
    z.object({ type: z.literal('disabled') }),
    z.object({ type: z.literal('external'), network }),
  ])
  .register(facts, { name: 'PermissionProfile' });

const policyContext = looseStruct('WireFileSystemPolicyContext', {
  cwd: nullish(pathUri),
  workspaceRoots: nullish(z.array(pathUri)),
});

const head = {
  permissions,
  sandboxOverride: z._default(
    z.enum(['noOverride', 'escalatedSandboxWithRestrictions', 'bypassSandboxFirstAttempt']),
    'noOverride',
  ),
  cwd: note('Base of relative globs and of the policy.', nullish(pathUri)),
};

const tail = {
  workspaceRoots: note('What `project_roots` stands for.', z._default(z.array(pathUri), [])),
  userHomeDir: nullish(pathUri),
  temporaryDirectories: nullish(z.array(pathUri)),
  windowsSandboxLevel: note('Required on every system.', z.enum(['disabled', 'restricted-token', 'elevated', 'mxc'])),
  windowsSandboxProxySettingsMode: nullish(z.enum(['reconcile', 'preserve'])),
  useLegacyLandlock: z._default(z.boolean(), false),
};

/** The order is that of the reference's client. */
export const sandbox = struct('WireFileSystemSandboxContext', {
  ...head,
  policyContext: note('Given: its members replace the outer ones.', nullish(policyContext)),
  ...tail,
});

/** The older form, still used by `capabilities/discoverV2`. */
export const plainSandbox = struct('FileSystemSandboxContext', { ...head, ...tail });
