/** Schemas of the managed network: what `process/start` may ask for, and the decisions that follow. */
import * as z from 'zod/mini';
import { looseStruct, note, nullish, struct, u16, u64 } from '../values.ts';

export const managedNetwork = looseStruct('ManagedNetworkSandboxContext', {
  loopbackPorts: z._default(z.array(u16), []),
  allowLocalBinding: z._default(z.boolean(), false),
});

const proxy = struct('RemoteNetworkProxyConfig', {
  enabled: z.boolean(),
  enableSocks5: z.boolean(),
  enableSocks5Udp: z.boolean(),
  allowUpstreamProxy: z.boolean(),
  dangerouslyAllowAllUnixSockets: z.boolean(),
  mode: z.enum(['limited', 'full']),
  domains: nullish(z.record(z.string(), z.enum(['none', 'allow', 'deny']))),
  reviewDomains: note('Only with the capability `networkProxyReviewDomains`.', nullish(z.array(z.string()))),
  unixSockets: nullish(z.record(z.string(), z.enum(['allow', 'deny']))),
  allowLocalBinding: z.boolean(),
  credentialMasking: nullish(z.boolean()),
  credentialProviders: nullish(z.record(z.string(), z.unknown())),
});

const text = nullish(z.string());
const auditMetadata = looseStruct('NetworkProxyAuditMetadata', {
  conversationId: text,
  appVersion: text,
  userAccountId: text,
  authMode: text,
  originator: text,
  userEmail: text,
  terminalType: text,
  model: text,
  slug: text,
});

export const networkProxy = struct('RemoteNetworkProxyLaunchConfig', {
  proxy,
  auditMetadata: nullish(auditMetadata),
  environmentId: text,
  executionId: text,
  policyDecisionTimeoutMs: note('Given: the client is asked about hosts outside the lists.', nullish(u64)),
});

export const policyDecisionParams = z.object({
  processId: z.string(),
  timestamp: note('RFC 3339 with milliseconds, UTC.', z.string()),
  scope: z.string(),
  decision: z.string(),
  source: z.string(),
  reason: z.string(),
  protocol: z.string(),
  host: z.string(),
  port: u16,
  method: text,
  client: text,
  policyOverride: z.boolean(),
});

export const policyRequestParams = z.object({
  processId: z.string(),
  request: struct('NetworkPolicyRequest', {
    protocol: z.enum(['http', 'https_connect', 'socks5_tcp', 'socks5_udp']),
    host: z.string(),
    port: u16,
  }),
});

export const policyRequestResult = z.object({
  decision: struct('NetworkPolicyDecision', { type: z.enum(['allow', 'deny', 'ask']), reason: text }),
});
