/** Schemas of capability discovery: plugins and skills found on the far side. */
import * as z from 'zod/mini';
import { note, nullish, pathUri, struct } from '../values.ts';
import { plainSandbox, sandbox } from './sandbox.ts';

const textFile = struct('CapabilityTextFile', { path: pathUri, contents: z.string() });

const pluginFiles = struct('CapabilityPluginFiles', {
  manifest: textFile,
  mcpConfig: z.nullable(textFile),
  appsConfig: z.nullable(textFile),
});

export const discoverRootsParams = z.object({
  roots: note(
    'At most 128.',
    z.array(struct('WireCapabilityRootDiscoverRequest', { id: z.string(), path: pathUri, sandbox: nullish(sandbox) })),
  ),
});

export const discoverRootsResult = z.object({
  roots: note(
    'In the order of the request.',
    z.array(
      struct('CapabilityRoot', {
        id: z.string(),
        path: pathUri,
        plugin: z.nullable(pluginFiles),
        skills: z.array(struct('CapabilityRootSkill', { instructions: textFile, metadata: z.nullable(textFile) })),
        namespaceManifests: z.array(textFile),
        warnings: z.array(z.string()),
        error: note('Why this root could not be looked at.', z.nullable(z.string())),
      }),
    ),
  ),
});

const skill = struct('CapabilitySkill', {
  name: z.string(),
  description: z.string(),
  shortDescription: z.nullable(z.string()),
  path: note('Its SKILL.md.', pathUri),
  discoveryRoot: note(
    'Absent from skills of plugins.',
    nullish(struct('CapabilityDiscoveryRoot', { id: z.string(), path: pathUri })),
  ),
  dependencies: z.unknown(),
  policy: z.unknown(),
});

const plugin = struct('CapabilityPlugin', {
  id: note('`name@marketplace`.', z.string()),
  displayName: z.nullable(z.string()),
  remotePluginId: z.nullable(z.string()),
  version: z.nullable(z.string()),
  root: pathUri,
  files: pluginFiles,
  skills: z.array(skill),
});

export const discoverParams = z.object({ cwd: pathUri, sandbox: nullish(plainSandbox) });

export const discoverResult = z.object({
  plugins: z.array(plugin),
  skills: z.array(skill),
  warnings: z.array(z.string()),
});
