/** Sandbox intent is honoured or refused, never ignored. Nothing can be enforced yet, so only "no sandbox" runs. */
import { ExecError } from '../../../protocol/errors.ts';
import type { StartParams } from './start-request.ts';

export function checkSandbox({ sandbox, networkProxy }: Pick<StartParams, 'sandbox' | 'networkProxy'>): void {
  const isManaged = sandbox?.permissions.type === 'managed';
  if (isManaged || networkProxy) {
    throw new ExecError('invalidParams', 'sandbox intent cannot be enforced on this executor');
  }
}
