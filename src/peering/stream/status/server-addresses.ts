/**
 * The addresses at which other clusters reach the servers of this cluster. Each server publishes its own in a status
 * row. Peering tokens and streams contain all of them ([PEER-40], [STREAM-71]).
 */
import type { Clock } from '../../../state/clock/clock.ts';
import type { State } from '../../../state/state.ts';
import { ADDRESSES_MAX } from '../../limits.ts';

const SLOT = 'peering-addresses';

/** Status rows change without notification, at most every ten seconds. */
const POLL_INTERVAL_MS = 10_000;

export interface ServerAddresses extends Disposable {
  /** Returns `host:port` without duplicates: this server's first, then the others' in order of server name. */
  current(): readonly string[];
  /**
   * Returns an address of another live server for `LeaderAddress`, a different server at each call. Returns `undefined`
   * when no other server advertises an address of its own.
   */
  otherServer(): string | undefined;
  /** Calls the listener after a change. @returns a function that removes it */
  onChange(listener: () => void): () => void;
}

/** Publishes `own` and follows the addresses of the other servers. */
export function followServerAddresses(state: State, clock: Clock, own: readonly string[]): ServerAddresses {
  const listeners = new Set<() => void>();
  let current = collectAddresses(state, own);
  let sent = 0;
  state.status.publish(SLOT, own);
  const refresh = (): void => {
    const next = collectAddresses(state, own);
    if (next.join() === current.join()) return;
    current = next;
    for (const listener of listeners) listener();
  };
  const poll = (): void => {
    refresh();
    cancel = clock.after(POLL_INTERVAL_MS, poll);
  };
  let cancel = clock.after(POLL_INTERVAL_MS, poll);
  const removeListener = state.onLiveNodes(refresh);
  return {
    current() {
      refresh();
      return current;
    },
    otherServer() {
      // Takes one address of each server.
      const firsts = otherServersAddresses(state).flatMap((addresses) =>
        addresses.filter((one) => !own.includes(one)).slice(0, 1),
      );
      sent += 1;
      return firsts[sent % firsts.length];
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    [Symbol.dispose]() {
      cancel();
      removeListener();
      listeners.clear();
    },
  };
}

function collectAddresses(state: State, own: readonly string[]): readonly string[] {
  return [...new Set([...own, ...otherServersAddresses(state).flat()])].slice(0, ADDRESSES_MAX);
}

/** Returns the addresses of each other live server, in order of server name. */
const otherServersAddresses = (state: State): readonly (readonly string[])[] =>
  [...state.status.readOthers(SLOT)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, addresses]) => addresses as readonly string[]);
