/** The exec surface: its contract, its handlers and its gate, as `rpc/` wants them. */
import { execToServer } from '../../protocol/exec/contract.ts';
import type { Surface } from '../../rpc/dispatcher.ts';
import type { ExecContext } from './context.ts';
import { adminHandlers } from './handlers/admin.ts';
import { handshakeHandlers } from './handlers/handshake.ts';
import { pendingHandlers } from './handlers/pending.ts';
import { processHandlers } from './handlers/process.ts';

export const execSurface: Surface<typeof execToServer, ExecContext> = {
  table: execToServer,
  handlers: { ...handshakeHandlers, ...processHandlers, ...adminHandlers, ...pendingHandlers },
  notifications: { initialized: (_params, context) => context.ready() },
  gate: (family, context) => context.gate(family),
};
