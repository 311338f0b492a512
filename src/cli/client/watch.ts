/** `--watch`: shows a result again whenever it changes, by blocking queries. */

import { CommandError } from '../errors.ts';
import { ANSWER_MS_MAX, WATCH_PAUSE_MS, WATCH_RETRY_MS, WATCH_RETRY_MS_MAX, WATCH_WAIT_SECONDS } from '../limits.ts';
import { note, type Shell } from '../shell.ts';
import type { Answer, Call, Client } from './client.ts';

/** A blocking query ends up to a sixteenth later than it says. */
const WATCH_SILENCE_MS = WATCH_WAIT_SECONDS * 1_000 * (1 + 1 / 16) + ANSWER_MS_MAX;

/**
 * Calls `show` with the answer, and again with each different one until the user interrupts.
 * A server that goes away or says 503 meanwhile is asked again; any other refusal ends the watch.
 * @throws CommandError; the reason of the interruption
 */
export async function watch(shell: Shell, client: Client, call: Call, show: (answer: Answer) => void): Promise<never> {
  const signal = shell.interrupted();
  let answer = await client.send(call);
  show(answer);
  let retryMs = WATCH_RETRY_MS;
  for (;;) {
    const query = { ...call.query, index: indexOf(answer), wait: `${WATCH_WAIT_SECONDS}s` };
    await shell.pause(WATCH_PAUSE_MS, signal);
    try {
      const next = await client.send({ ...call, query, silenceMs: WATCH_SILENCE_MS });
      if (next.text !== answer.text) show(next);
      answer = next;
      retryMs = WATCH_RETRY_MS;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof CommandError) || (error.code !== 'unreachable' && error.status !== 503)) throw error;
      note(shell, `accord: ${error.message}; trying again in ${retryMs / 1_000} s`);
      await shell.pause(retryMs, signal);
      retryMs = Math.min(2 * retryMs, WATCH_RETRY_MS_MAX);
    }
  }
}

function indexOf({ headers }: Answer): number {
  const index = Number(headers['x-service-index']);
  if (!(index > 0)) throw new CommandError('refused', 'the server gave no X-Service-Index: this cannot be watched');
  return index;
}
