/** A response that is streamed in chunks. */

import { once } from 'node:events';
import { type Call, disconnectSignal } from './call.ts';
import { countAnswer } from './telemetry/traffic.ts';

/**
 * Writes the chunks. If they fail, closes the connection, so that the client cannot take a part for the whole.
 * @param chunks receives a signal that aborts when the client disconnects
 */
export async function streamAnswer(
  call: Call,
  contentType: string,
  chunks: (signal: AbortSignal) => AsyncIterable<string>,
): Promise<void> {
  const { context, response } = call;
  const signal = disconnectSignal(call);
  try {
    response.setTimeout(context.writeStallMs);
    response.writeHead(200, ['X-Request-Id', call.id, 'Content-Type', contentType, ...call.corsHeaders]);
    for await (const chunk of chunks(signal)) {
      if (!response.write(chunk)) await once(response, 'drain', { signal });
    }
    response.end();
    countAnswer(call.route.traffic, 200, undefined);
  } catch (error) {
    if (!signal.aborted) context.log.error({ id: call.id, route: call.route.path, error }, 'streamed response aborted');
    response.destroy();
  }
}
