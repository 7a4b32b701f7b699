/** admin/*: every session's processes, for whoever runs the server. Off unless the server was started with it. */
import { randomUUID } from 'node:crypto';
import type { Process } from '../../../process/process.ts';
import { ExecError } from '../../../protocol/errors.ts';
import type { execToServer } from '../../../protocol/exec/contract.ts';
import type { Handlers } from '../../../rpc/dispatcher.ts';
import type { ExecContext } from '../context.ts';
import { toListEntry } from './process.ts';

type Methods = 'admin/processes' | 'admin/terminate';

/** Names that say nothing of the session, whose id is its only credential. */
const refs = new WeakMap<Process, string>();

export const adminHandlers: Pick<Handlers<typeof execToServer, ExecContext>, Methods> = {
  'admin/processes': (_params, context) => {
    checkAllowed(context);
    const processes = Array.from(context.server.registry.all(), (session) =>
      Array.from(session.processes(), (process) => ({
        ref: refOf(process),
        attached: session.connection !== undefined,
        ...toListEntry(process),
      })),
    );
    return { processes: processes.flat() };
  },

  'admin/terminate': ({ ref, graceMs }, context) => {
    checkAllowed(context);
    for (const session of context.server.registry.all()) {
      for (const process of session.processes()) {
        if (refs.get(process) === ref) return { running: process.terminate(graceMs ?? undefined) };
      }
    }
    return { running: false };
  },
};

function checkAllowed({ server }: ExecContext): void {
  if (server.admin) return;
  throw new ExecError('invalidRequest', 'admin methods are off; start the server with --admin to allow them');
}

function refOf(process: Process): string {
  const ref = refs.get(process) ?? randomUUID();
  refs.set(process, ref);
  return ref;
}
