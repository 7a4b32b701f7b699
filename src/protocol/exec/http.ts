/** Schemas of HTTP requests made from the far side. */
import * as z from 'zod/mini';
import { bytes, note, nullish, struct, trailing, u16, u64 } from '../values.ts';

export const httpRequestParams = z.object({
  method: z.string(),
  url: note('Absolute, http or https.', z.string()),
  headers: note(
    'Order and repeats are kept.',
    z._default(
      z.array(
        struct('HttpHeader', {
          name: z.string(),
          value: z.string(),
          valueEnvVar: note("A variable of the server's environment, put after `value`.", trailing(z.string())),
        }),
      ),
      [],
    ),
  ),
  bodyBase64: nullish(bytes),
  timeoutMs: note('For the whole exchange, body included; none when absent.', nullish(u64)),
  redirectPolicy: z._default(z.enum(['follow', 'stop']), 'follow'),
  requestId: note('Unique among the streams of a connection; may be empty otherwise.', z.string()),
  streamResponse: note('The body follows in `http/request/bodyDelta`.', z._default(z.boolean(), false)),
});

export const httpRequestResult = z.object({
  status: u16,
  headers: z.array(struct('HttpResponseHeader', { name: z.string(), value: z.string() })),
  bodyBase64: note('Empty when streamed.', bytes),
});

export const bodyDeltaParams = z.object({
  requestId: z.string(),
  seq: note('From 1.', u64),
  deltaBase64: note('At most 1 MiB decoded.', bytes),
  done: z.boolean(),
  error: z.nullable(z.string()),
});
