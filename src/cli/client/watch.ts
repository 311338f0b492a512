/** Implements `--watch` with blocking queries. */

import { CommandError } from '../errors.ts';
import {
  RESPONSE_TIMEOUT_MS,
  WATCH_PAUSE_MS,
  WATCH_RETRY_MS,
  WATCH_RETRY_MS_MAX,
  WATCH_WAIT_SECONDS,
} from '../limits.ts';
import { note, type Shell } from '../shell.ts';
import type { Client, ClientRequest, ClientResponse } from './client.ts';

/** The server adds a jitter of up to one sixteenth to the wait of a blocking query. */
const WATCH_IDLE_TIMEOUT_MS = WATCH_WAIT_SECONDS * 1_000 * (1 + 1 / 16) + RESPONSE_TIMEOUT_MS;

/**
 * Calls `show` with the response and with every changed response until the user interrupts.
 * Retries if the server becomes unreachable or returns 503. Any other error ends the watch.
 * @throws CommandError; the reason of the interruption
 */
export async function watch(
  shell: Shell,
  client: Client,
  call: ClientRequest,
  show: (response: ClientResponse) => void,
): Promise<never> {
  const signal = shell.interruptSignal();
  let current = await client.send(call);
  show(current);
  let retryMs = WATCH_RETRY_MS;
  for (;;) {
    const query = { ...call.query, index: indexOf(current), wait: `${WATCH_WAIT_SECONDS}s` };
    await shell.pause(WATCH_PAUSE_MS, signal);
    try {
      const next = await client.send({ ...call, query, idleTimeoutMs: WATCH_IDLE_TIMEOUT_MS });
      if (next.text !== current.text) show(next);
      current = next;
      retryMs = WATCH_RETRY_MS;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof CommandError) || (error.code !== 'unreachable' && error.status !== 503)) throw error;
      note(shell, `accord: ${error.message}; retrying in ${retryMs / 1_000} s`);
      await shell.pause(retryMs, signal);
      retryMs = Math.min(2 * retryMs, WATCH_RETRY_MS_MAX);
    }
  }
}

function indexOf({ headers }: ClientResponse): number {
  const index = Number(headers['x-service-index']);
  if (!(index > 0)) throw new CommandError('failed', 'cannot watch: the response has no X-Service-Index header');
  return index;
}
