/** Sandbox intent is honoured or refused, never ignored. Nothing can be enforced yet, so only "no sandbox" runs. */
import { ExecError } from '../../../protocol/errors.ts';
import type { execToServer } from '../../../protocol/exec/contract.ts';
import type { Params } from '../../../protocol/table.ts';

type StartParams = Params<typeof execToServer, 'process/start'>;

export function checkSandbox({ sandbox, networkProxy }: Pick<StartParams, 'sandbox' | 'networkProxy'>): void {
  const isManaged = sandbox?.permissions.type === 'managed';
  if (isManaged || networkProxy) {
    throw new ExecError('invalidParams', 'sandbox intent cannot be enforced on this executor');
  }
}
