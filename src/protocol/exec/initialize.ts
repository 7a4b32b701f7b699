/** Schemas of the handshake. */
import * as z from 'zod/mini';
import { extension, note, nullish } from '../values.ts';
import { environmentInfo } from './environment.ts';

export const initializeParams = z.object({
  clientName: note('Not otherwise used; may be empty.', z.string()),
  resumeSessionId: note('Takes up a session whose connection is gone.', nullish(z.string())),
  authToken: note(
    'Spoken by clients of March 2026; looked at only where the server asks for it.',
    extension(z.nullable(z.string())),
  ),
});

export const initializeResult = z.object({
  sessionId: note('Knowing it is all that resuming takes.', z.string()),
  environmentInfo: note('Absent from older servers.', z.optional(environmentInfo)),
});

/** Whatever comes is accepted. */
export const initializedParams = z.unknown();
