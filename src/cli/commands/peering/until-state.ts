/** `--until STATE`: waits for a peering to get there, so that a script can go on from it. */
import { type Client, connect, parseJson } from '../../client/client.ts';
import type { ConnectionOptions } from '../../client/connection.ts';
import { watch } from '../../client/watch.ts';
import { CommandError } from '../../errors.ts';
import { type Peering, stateOf } from '../../output/peering-record.ts';
import type { Shell } from '../../shell.ts';

/** The peering that is waited for, in which state, for how long. */
export interface Awaited {
  readonly name: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Compared without regard to case. */
  readonly state: string;
  readonly seconds: number;
}

/**
 * The peering as soon as it is in the state, by blocking queries.
 * @throws CommandError `refused` when the time is over; the reason of the interruption
 */
export async function untilState(shell: Shell, options: ConnectionOptions, awaited: Awaited): Promise<Peering> {
  const { name, path, query, state, seconds } = awaited;
  const end = new AbortController();
  const wanted = state.toUpperCase();
  const interrupted = shell.interrupted();
  const signal = AbortSignal.any([interrupted, end.signal]);
  const bounded: Shell = { ...shell, interrupted: () => signal };
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
    throw new CommandError('refused', tooLate(name, last, awaited));
  } finally {
    // The timer too.
    end.abort();
  }
}

function tooLate(name: string, last: Peering | undefined, { state, seconds }: Awaited): string {
  const found = last === undefined ? 'the server did not answer' : `it is ${stateOf(last)}`;
  const reason = last?.Failing === undefined ? '' : ` (${last.Failing.Reason})`;
  return `peering "${name}" was not ${state.toUpperCase()} within ${seconds} s: ${found}${reason}; to see why: accord peering check ${name}`;
}
