/**
 * The exec surface: every method, in each direction. The only list of methods there is; handlers, calls, validation,
 * gate texts and docs/protocol.md are derived from it. Keys of a schema stand in wire order.
 */
import { table } from '../table.ts';
import { empty, unit } from '../values.ts';
import * as discovery from './discovery.ts';
import * as environment from './environment.ts';
import * as fs from './fs.ts';
import * as http from './http.ts';
import * as initialize from './initialize.ts';
import * as network from './network.ts';
import * as processes from './process.ts';

const exec = { family: 'exec', since: 'stock' } as const;
const ours = { family: 'exec', since: 'extension' } as const;
const admin = { family: 'admin', since: 'extension' } as const;
const filesystem = { family: 'filesystem', since: 'stock' } as const;

/** What a client may send. */
export const execToServer = table({
  initialize: {
    params: initialize.initializeParams,
    result: initialize.initializeResult,
    lane: 'inline',
    since: 'stock',
    struct: 'InitializeParams',
    summary: 'Opens a session, or takes up one whose connection is gone.',
  },
  initialized: {
    params: initialize.initializedParams,
    since: 'stock',
    struct: 'unit',
    summary: 'Ends the handshake; every other method waits for it.',
  },

  'environment/info': {
    params: unit,
    result: environment.environmentInfo,
    family: 'environment info',
    lane: 'control',
    since: 'stock',
    struct: 'unit',
    summary: 'Says what the far side is and can do.',
  },
  'environment/status': {
    params: unit,
    result: environment.statusResult,
    family: 'environment status',
    lane: 'control',
    since: 'stock',
    struct: 'unit',
    summary: 'Answers when the server is ready.',
  },
  'environmentConfig/read': {
    params: environment.configReadParams,
    result: environment.configReadResult,
    family: 'environment config',
    lane: 'ordinary',
    since: 'stock',
    struct: 'EnvironmentConfigReadParams',
    summary: 'Reads selected keys of the configuration files on the far side.',
  },
  'capabilityRoots/discoverV1': {
    params: discovery.discoverRootsParams,
    result: discovery.discoverRootsResult,
    family: 'capability discovery',
    lane: 'ordinary',
    since: 'stock',
    struct: 'WireCapabilityRootsDiscoverParams',
    summary: 'Looks for plugins and skills below given directories.',
  },
  'capabilities/discoverV2': {
    params: discovery.discoverParams,
    result: discovery.discoverResult,
    family: 'capability discovery',
    lane: 'ordinary',
    since: 'stock',
    struct: 'DiscoverV2CapabilitiesRequest',
    summary: 'Lists the plugins and skills installed on the far side.',
  },

  'process/start': {
    ...exec,
    params: processes.startParams,
    result: processes.startResult,
    lane: 'ordinary',
    struct: 'WireExecParams',
    summary: 'Starts a process; answered before anything else is said about it.',
  },
  'process/read': {
    ...exec,
    params: processes.readParams,
    result: processes.readResult,
    lane: 'ordinary',
    struct: 'ReadParams',
    summary: 'Reads retained output after a seq, waiting for something new when asked to.',
  },
  'process/write': {
    ...exec,
    params: processes.writeParams,
    result: processes.writeResult,
    lane: 'ordinary',
    struct: 'WriteParams',
    summary: 'Queues bytes for stdin; accepted means queued, not read.',
  },
  'process/signal': {
    ...exec,
    params: processes.signalParams,
    result: empty,
    lane: 'control',
    struct: 'SignalParams',
    summary: 'Sends a signal to the process group; a process that is gone is no error.',
  },
  'process/terminate': {
    ...exec,
    params: processes.terminateParams,
    result: processes.terminateResult,
    lane: 'control',
    struct: 'TerminateParams',
    summary: 'Ends a process and its group, at once unless told otherwise.',
  },
  'process/resize': {
    ...ours,
    params: processes.resizeParams,
    result: empty,
    lane: 'ordinary',
    struct: 'ResizeParams',
    summary: 'Changes the size of a terminal.',
  },
  'process/closeStdin': {
    ...ours,
    params: processes.closeStdinParams,
    result: empty,
    lane: 'ordinary',
    struct: 'CloseStdinParams',
    summary: 'End of file on stdin after the writes before it; on a terminal its end-of-file character.',
  },
  'process/flow': {
    ...ours,
    params: processes.flowParams,
    result: empty,
    lane: 'control',
    struct: 'FlowParams',
    summary: 'Stops or restarts the output of one process, so that one slow consumer need not stall a connection.',
  },
  'process/list': {
    ...ours,
    params: unit,
    result: processes.listResult,
    lane: 'control',
    struct: 'unit',
    summary: 'Every process of the session.',
  },
  'admin/processes': {
    ...admin,
    params: unit,
    result: processes.adminListResult,
    lane: 'control',
    struct: 'unit',
    summary: "Every session's processes; only when the server was started with --admin.",
  },
  'admin/terminate': {
    ...admin,
    params: processes.adminTerminateParams,
    result: processes.terminateResult,
    lane: 'control',
    struct: 'AdminTerminateParams',
    summary: 'Ends any process of the server; only with --admin.',
  },

  'fs/readFile': {
    ...filesystem,
    params: fs.readFileParams,
    result: fs.readFileResult,
    lane: 'ordinary',
    struct: 'WireFsReadFileParams',
    summary: 'Reads a regular file of at most 512 MiB.',
  },
  'fs/open': {
    ...filesystem,
    params: fs.openParams,
    result: fs.openResult,
    lane: 'ordinary',
    struct: 'WireFsOpenParams',
    summary: 'Opens a file for reading or replacing in blocks; at most 128 per connection.',
  },
  'fs/readBlock': {
    ...filesystem,
    params: fs.readBlockParams,
    result: fs.readBlockResult,
    lane: 'ordinary',
    struct: 'FsReadBlockParams',
    summary: 'Reads from an open file at an offset.',
  },
  'fs/writeBlock': {
    ...filesystem,
    params: fs.writeBlockParams,
    result: empty,
    lane: 'ordinary',
    struct: 'FsWriteBlockParams',
    summary: 'Writes to an open file at an offset.',
  },
  'fs/close': {
    ...filesystem,
    params: fs.closeParams,
    result: empty,
    lane: 'control',
    struct: 'FsCloseParams',
    summary: 'Closes an open file; an unknown one is no error.',
  },
  'fs/writeFile': {
    ...filesystem,
    params: fs.writeFileParams,
    result: empty,
    lane: 'ordinary',
    struct: 'WireFsWriteFileParams',
    summary: 'Creates a file or replaces its content in place.',
  },
  'fs/createDirectory': {
    ...filesystem,
    params: fs.createDirectoryParams,
    result: empty,
    lane: 'ordinary',
    struct: 'WireFsCreateDirectoryParams',
    summary: 'Creates a directory and, unless told otherwise, its parents.',
  },
  'fs/getMetadata': {
    ...filesystem,
    params: fs.getMetadataParams,
    result: fs.getMetadataResult,
    lane: 'ordinary',
    struct: 'WireFsGetMetadataParams',
    summary: 'Says what a path is, how large and how old.',
  },
  'fs/canonicalize': {
    ...filesystem,
    params: fs.canonicalizeParams,
    result: fs.canonicalizeResult,
    lane: 'ordinary',
    struct: 'WireFsCanonicalizeParams',
    summary: 'Resolves every symbolic link of a path.',
  },
  'fs/readDirectory': {
    ...filesystem,
    params: fs.readDirectoryParams,
    result: fs.readDirectoryResult,
    lane: 'ordinary',
    struct: 'WireFsReadDirectoryParams',
    summary: 'Lists a directory of at most 50000 entries.',
  },
  'fs/walk': {
    ...filesystem,
    params: fs.walkParams,
    result: fs.walkResult,
    lane: 'ordinary',
    struct: 'WireFsWalkParams',
    summary: 'Lists a tree, breadth first, within limits.',
  },
  'fs/remove': {
    ...filesystem,
    params: fs.removeParams,
    result: empty,
    lane: 'ordinary',
    struct: 'WireFsRemoveParams',
    summary: 'Removes a file, a link or a directory.',
  },
  'fs/copy': {
    ...filesystem,
    params: fs.copyParams,
    result: empty,
    lane: 'ordinary',
    struct: 'WireFsCopyParams',
    summary: 'Copies a file, a link or a tree on the far side.',
  },
  'fs/watchMissing': {
    ...filesystem,
    params: fs.watchMissingParams,
    result: fs.watchMissingResult,
    lane: 'ordinary',
    struct: 'FsWatchMissingParams',
    summary: 'Asks to be told once when one of several missing paths appears; one watch per connection.',
  },

  'http/request': {
    params: http.httpRequestParams,
    result: http.httpRequestResult,
    family: 'http',
    lane: 'ordinary',
    since: 'stock',
    struct: 'HttpRequestParams',
    summary: 'Makes an HTTP request from the far side; any HTTP status is a success.',
  },
});

/** What a server may send on its own. */
export const execToClient = table({
  'process/output': {
    params: processes.outputParams,
    since: 'stock',
    struct: 'ProcessOutputParams',
    summary: 'Output of a process, as it is read.',
  },
  'process/exited': {
    params: processes.exitedParams,
    since: 'stock',
    struct: 'ProcessExitedParams',
    summary: 'The process ended; output of its descendants may still follow.',
  },
  'process/closed': {
    params: processes.closedParams,
    since: 'stock',
    struct: 'ProcessClosedParams',
    summary: 'The output ended too: nothing more will be said about this process.',
  },
  'http/request/bodyDelta': {
    params: http.bodyDeltaParams,
    since: 'stock',
    struct: 'HttpBodyDeltaParams',
    summary: 'A piece of a streamed response body; the last one has `done`.',
  },
  'fs/missingChanged': {
    params: fs.missingChangedParams,
    since: 'stock',
    struct: 'FsMissingChangedParams',
    summary: 'What `fs/watchMissing` waited for happened; the watch is over.',
  },
  'network/policyDecision': {
    params: network.policyDecisionParams,
    since: 'stock',
    struct: 'NetworkPolicyDecisionParams',
    summary: 'A decision of the managed network about one host.',
  },
  'network/policyRequest': {
    params: network.policyRequestParams,
    result: network.policyRequestResult,
    since: 'stock',
    struct: 'NetworkPolicyRequestParams',
    summary: 'Asks the client whether a process may reach a host.',
  },
});
