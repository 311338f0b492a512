/** Implements `--until STATE`, with which a script waits for the state of a peering. */
import { type Client, connect, parseJson } from '../../client/client.ts';
import type { ConnectionOptions } from '../../client/connection.ts';
import { watch } from '../../client/watch.ts';
import { CommandError } from '../../errors.ts';
import { type Peering, stateOf } from '../../output/peering-tables.ts';
import type { Shell } from '../../shell.ts';

export interface WaitOptions {
  readonly name: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Case-insensitive. */
  readonly state: string;
  readonly seconds: number;
}

/**
 * Waits with blocking queries until the peering has the state, and returns the peering.
 * @throws CommandError `failed` after the timeout; the reason of the interruption
 */
export async function waitForState(shell: Shell, options: ConnectionOptions, wait: WaitOptions): Promise<Peering> {
  const { name, path, query, state, seconds } = wait;
  const end = new AbortController();
  const wanted = state.toUpperCase();
  const interrupted = shell.interruptSignal();
  const signal = AbortSignal.any([interrupted, end.signal]);
  const bounded: Shell = { ...shell, interruptSignal: () => signal };
  const client: Client = connect(bounded, options);
  let last: Peering | undefined;
  shell.pause(seconds * 1_000, signal).then(
    () => end.abort(),
    () => undefined,
  );
  try {
    return await watch(bounded, client, { method: 'GET', path, query }, ({ text }) => {
      last = parseJson(client, text) as Peering;
      if (stateOf(last) === wanted) end.abort();
    });
  } catch (error) {
    if (interrupted.aborted || !end.signal.aborted) throw error;
    if (last !== undefined && stateOf(last) === wanted) return last;
    throw new CommandError('failed', timeoutMessage(name, last, wait));
  } finally {
    // Cancels the timeout.
    end.abort();
  }
}

function timeoutMessage(name: string, last: Peering | undefined, { state, seconds }: WaitOptions): string {
  const found = last === undefined ? 'was not returned by the server' : `is ${stateOf(last)}`;
  const reason = last?.Failing === undefined ? '' : ` (${last.Failing.Reason})`;
  const result = `timeout: peering "${name}" ${found}${reason} after ${seconds} s, want ${state.toUpperCase()}`;
  return `${result}; for the cause, run: accord peering check ${name}`;
}
