/**
 * Fairness between nodes that commit at the same time. A node whose transaction loses puts a ticket in etcd, and the
 * other nodes wait a moment for older tickets. Without tickets, a node that is a millisecond farther from etcd commits
 * nothing under load.
 *
 * Tickets affect only the order [ETCD-42]. A ticket that its owner never uses costs every other node one wait.
 */
import type { Clock } from '../../../clock/clock.ts';
import { RESERVED_WAIT_MS, TICKET_WAIT_MS } from '../limits.ts';
import { createNotifier } from './notifier.ts';

/** The revisions of a ticket key. A lower `created` has priority; a new `changed` means that the owner renewed it. */
export interface Ticket {
  readonly created: bigint;
  readonly changed: bigint;
  /** Whether the owner prepares a commit that takes long [ETCD-92]. */
  readonly reserves?: boolean;
}

export interface CommitFairness {
  /** Records a new or renewed ticket of a node, or (undefined) its deletion. */
  observe(node: string, ticket: Ticket | undefined): void;
  reset(tickets: ReadonlyMap<string, Ticket>): void;
  /** Whether another node has an older ticket than this node. */
  mustWait(): boolean;
  /** Waits until no other node has an older ticket, for at most 100 ms, or 3 s if one reserves [ETCD-40] [ETCD-92]. */
  wait(signal: AbortSignal): Promise<void>;
}

export function createCommitFairness(self: string, clock: Clock): CommitFairness {
  let tickets = new Map<string, Ticket>();
  /** Tickets for which a wait ran out, until their owners renew them [ETCD-41]. */
  const ignored = new Map<string, bigint>();
  const notifier = createNotifier(clock);

  const olderTickets = (): readonly (readonly [string, Ticket])[] => {
    const own = tickets.get(self)?.created;
    return [...tickets].filter(
      ([node, { created, changed }]) =>
        node !== self && (own === undefined || created < own) && ignored.get(node) !== changed,
    );
  };

  return {
    observe(node, ticket) {
      if (ticket === undefined) tickets.delete(node);
      else tickets.set(node, ticket);
      if (ticket === undefined) ignored.delete(node);
      notifier.notify();
    },
    reset(next) {
      tickets = new Map(next);
      ignored.clear();
      notifier.notify();
    },
    mustWait: () => olderTickets().length > 0,
    async wait(signal) {
      const startedAt = clock.monotonic();
      for (let older = olderTickets(); !signal.aborted && older.length > 0; older = olderTickets()) {
        const waitMs = older.some(([, { reserves }]) => reserves === true) ? RESERVED_WAIT_MS : TICKET_WAIT_MS;
        const remainingMs = startedAt + waitMs - clock.monotonic();
        if (remainingMs <= 0) {
          for (const [node, { changed }] of older) ignored.set(node, changed);
          return;
        }
        await notifier.wait(remainingMs, signal);
      }
    },
  };
}
