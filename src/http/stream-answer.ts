/** An answer too large to hold: written as its chunks come, as fast as the caller takes them. */
import { once } from 'node:events';
import { type Call, callerSignal } from './call.ts';
import { countAnswer } from './telemetry/traffic.ts';

/**
 * Writes the chunks. When they fail, the connection is cut: a caller must not take a part for the whole.
 * @param chunks is given a signal that aborts when the caller leaves
 */
export async function streamAnswer(
  call: Call,
  contentType: string,
  chunks: (signal: AbortSignal) => AsyncIterable<string>,
): Promise<void> {
  const { response } = call;
  const signal = callerSignal(call);
  try {
    response.setTimeout(call.edge.unreadMs);
    response.writeHead(200, ['X-Request-Id', call.id, 'Content-Type', contentType, ...call.crossOrigin]);
    for await (const chunk of chunks(signal)) {
      if (!response.write(chunk)) await once(response, 'drain', { signal });
    }
    response.end();
    countAnswer(call.route.traffic, 200, undefined);
  } catch (error) {
    if (!signal.aborted) call.edge.log.error({ id: call.id, route: call.route.path, error }, 'an answer was cut off');
    response.destroy();
  }
}
