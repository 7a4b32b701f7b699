/** initialize and the environment methods: who is there, and which session it gets. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { ExecError } from '../../../protocol/errors.ts';
import type { execToServer } from '../../../protocol/exec/contract.ts';
import type { Handlers } from '../../../rpc/dispatcher.ts';
import type { ExecContext } from '../context.ts';

type Methods = 'initialize' | 'environment/info' | 'environment/status';

export const handshakeHandlers: Pick<Handlers<typeof execToServer, ExecContext>, Methods> = {
  initialize: async ({ resumeSessionId, authToken }, context) => {
    if (!context.isNew) {
      throw new ExecError('invalidRequest', 'initialize may only be sent once per connection');
    }
    const { connection, server } = context;
    const { registry, info, authToken: required } = server;
    if (required !== undefined && !isSame(authToken ?? '', required)) {
      throw new ExecError('unauthorized', 'invalid exec-server auth token');
    }
    const session =
      typeof resumeSessionId === 'string'
        ? await registry.resume(resumeSessionId, connection)
        : registry.open(connection);
    context.initialize(session);
    return { sessionId: session.id, environmentInfo: info };
  },
  'environment/info': (_params, { server }) => server.info,
  'environment/status': () => ({ status: 'ready' }),
};

function isSame(given: string, required: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(required));
}
