/**
 * Fairness between nodes. A transaction that loses leaves a ticket; nodes let older tickets go first, for a moment.
 * Without it, a node whose way to etcd is a millisecond longer never commits anything under load. Tickets are a
 * courtesy: the guard of the commit alone decides, and one that nobody uses costs every node one wait.
 */
import type { Clock } from '../../../clock/clock.ts';
import { TURN_WAIT_MS } from '../limits.ts';
import { createBell } from './notifier.ts';

/** A ticket: the older `created`, the sooner its turn; `changed` tells a renewed one from one that was waited for. */
export interface Ticket {
  readonly created: bigint;
  readonly changed: bigint;
}

export interface Turns {
  /** A node's ticket appeared, was renewed, or (undefined) went. */
  observe(node: string, ticket: Ticket | undefined): void;
  reset(tickets: ReadonlyMap<string, Ticket>): void;
  /** Whether another node's ticket is older than our own. */
  mustWait(): boolean;
  /** Waits until no other node's ticket is older than ours, at most 100 ms. */
  wait(signal: AbortSignal): Promise<void>;
}

/** Tickets as seen by `self`. */
export function createTurns(self: string, clock: Clock): Turns {
  let tickets = new Map<string, Ticket>();
  /** Tickets that a wait ran out on: their node had its chance. */
  const forfeited = new Map<string, bigint>();
  const bell = createBell(clock);

  const older = (): readonly (readonly [string, Ticket])[] => {
    const own = tickets.get(self)?.created;
    return [...tickets].filter(
      ([node, { created, changed }]) =>
        node !== self && (own === undefined || created < own) && forfeited.get(node) !== changed,
    );
  };

  return {
    observe(node, ticket) {
      if (ticket === undefined) tickets.delete(node);
      else tickets.set(node, ticket);
      if (ticket === undefined) forfeited.delete(node);
      bell.ring();
    },
    reset(next) {
      tickets = new Map(next);
      forfeited.clear();
      bell.ring();
    },
    mustWait: () => older().length > 0,
    async wait(signal) {
      const until = clock.monotonic() + TURN_WAIT_MS;
      while (!signal.aborted && older().length > 0) {
        const left = until - clock.monotonic();
        if (left <= 0) {
          for (const [node, { changed }] of older()) forfeited.set(node, changed);
          return;
        }
        await bell.wait(left, signal);
      }
    },
  };
}
