/**
 * Where other clusters reach the servers of this one. Each server says in a status row what it advertises; together
 * they go into tokens and to dialing peers, who then have all servers to choose from.
 */
import type { Clock } from '../../../state/clock/clock.ts';
import type { State } from '../../../state/state.ts';
import { ADDRESSES_MAX } from '../../limits.ts';

/** The status slot with a server's own addresses. */
const SLOT = 'peering-addresses';

/** Status rows come without a signal, at most every ten seconds: looked at as often. */
const LOOK_MS = 10_000;

export interface ServerAddresses extends Disposable {
  /** `host:port`; this server's own first, then the others' by the name of the server; each once. */
  current(): readonly string[];
  /**
   * Where to send who cannot be served here: an address of another live server, of several one after another, so that not
   * all of its streams go to the same. Undefined: no other one names an address that is not also this server's.
   */
  elsewhere(): string | undefined;
  /** Calls the listener when they have changed. @returns forgets it */
  onChange(listener: () => void): () => void;
}

/** Publishes `own` and follows the others. */
export function followServerAddresses(state: State, clock: Clock, own: readonly string[]): ServerAddresses {
  const listeners = new Set<() => void>();
  let current = gather(state, own);
  let sent = 0;
  state.status.publish(SLOT, own);
  const look = (): void => {
    const next = gather(state, own);
    if (next.join() === current.join()) return;
    current = next;
    for (const listener of listeners) listener();
  };
  const lookAgain = (): void => {
    look();
    cancel = clock.after(LOOK_MS, lookAgain);
  };
  let cancel = clock.after(LOOK_MS, lookAgain);
  const forgetMembers = state.onMembers(look);
  return {
    current() {
      look();
      return current;
    },
    elsewhere() {
      // Of a server that advertises several, the first is as good as any.
      const firsts = othersOf(state).flatMap((addresses) => addresses.filter((one) => !own.includes(one)).slice(0, 1));
      sent += 1;
      return firsts[sent % firsts.length];
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    [Symbol.dispose]() {
      cancel();
      forgetMembers();
      listeners.clear();
    },
  };
}

function gather(state: State, own: readonly string[]): readonly string[] {
  return [...new Set([...own, ...othersOf(state).flat()])].slice(0, ADDRESSES_MAX);
}

/** What each of the other live servers advertises, by its name. */
const othersOf = (state: State): readonly (readonly string[])[] =>
  [...state.status.ofOthers(SLOT)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, addresses]) => addresses as readonly string[]);
