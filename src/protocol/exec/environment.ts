/** Schemas of the environment: what the far side is, whether it is ready, and its configuration. */
import * as z from 'zod/mini';
import { extension, note, nullish, pathUri, struct, u64 } from '../values.ts';

const capability = z._default(z.boolean(), false);

/** What the server can do; a flag that is absent is false. */
export const capabilities = struct('EnvironmentCapabilities', {
  networkProxyLaunch: capability,
  networkProxyReviewDomains: capability,
  credentialMasking: capability,
  credentialMaskingCustomProviders: capability,
  capabilityDiscoverySandbox: capability,
  fsWatchMissing: capability,
  capabilityDiscoveryV2: capability,
  environmentConfigRead: capability,
  httpHeaderEnvVars: capability,
  sandboxedFileStreaming: capability,
  fileWriteStreaming: capability,
  shellSnapshotV2: capability,
  windowsMxc: capability,
  linuxRootWritePreservesDevices: capability,
  linuxApprovedRootWritePreservesRestrictions: capability,
});

export const shell = struct('ShellInfo', {
  name: note('`zsh`, `bash`, `sh`, `powershell` or `cmd`.', z.string()),
  path: note('Native text, not a URI.', z.string()),
});

/** Older servers send less: only the shell is certain. */
export const environmentInfo = struct('EnvironmentInfo', {
  shell,
  executorVersion: z.optional(z.string()),
  providerId: note('Opaque, the same for one machine.', z.optional(z.string())),
  cwd: note('The working directory of the server; null when unknown.', nullish(pathUri)),
  userHomeDir: nullish(pathUri),
  platformOs: note('`linux`, `macos` or `windows`.', z.optional(z.string())),
  prependPathDirs: note('Directories that the server puts first in PATH.', z._default(z.array(pathUri), [])),
  temporaryDirectories: z._default(z.array(pathUri), []),
  tempDir: nullish(pathUri),
  capabilities: z.prefault(capabilities, {}),
  extensions: note('Names of what this server has beyond the reference.', extension(z.array(z.string()))),
});

export const statusResult = z.object({ status: z.enum(['ready']) });

const keyPaths = z.array(z.array(z.string()));

export const configReadParams = z.object({
  cwd: pathUri,
  configPaths: note('Each a list of TOML keys; what is selected is returned.', keyPaths),
  requirementsPaths: keyPaths,
});

const configLayer = struct('EnvironmentConfigLayer', {
  source: note('Display text.', z.string()),
  baseDir: pathUri,
  toml: note('The selected keys only.', z.string()),
});

const configStack = struct('EnvironmentConfigStack', {
  layers: note('From lowest to highest precedence.', z.array(configLayer)),
  cloudInsertionIndex: u64,
});

export const configReadResult = z.object({
  userHomeDir: z.nullable(pathUri),
  codexHomeDir: pathUri,
  hostname: z.nullable(z.string()),
  config: configStack,
  requirements: configStack,
});
