import type { Clock } from '../../../clock/clock.ts';
import type { Follower } from '../../engine.ts';
import { Event_Type, type KeyValue } from '../client/gen/etcd_pb.ts';
import { createTurns, type Ticket, type Turns } from '../commit/commit-fairness.ts';
import type { ObserveLeased } from '../follow/follow.ts';
import type { Leased } from '../follow/load.ts';
import { text } from '../keys.ts';
import { createPresence, type Presence } from './live-nodes.ts';

/** What nodes keep by lease, as this node sees it: who is there, their status rows, their tickets. */
export interface LeasedView {
  readonly presence: Presence;
  readonly turns: Turns;
  readonly observe: ObserveLeased;
  /** Replaces everything by what a load has read. */
  reset(leased: Leased): void;
}

export function createLeasedView(
  self: string,
  incarnation: () => string | undefined,
  follower: Follower,
  clock: Clock,
): LeasedView {
  const presence = createPresence(self, incarnation, follower);
  const turns = createTurns(self, clock);
  return {
    presence,
    turns,
    observe(key, { type, kv }) {
      const alive = type === Event_Type.DELETE ? undefined : kv;
      const value = alive === undefined ? null : text(alive.value);
      if (key.kind === 'node') presence.observeNode(key.name, value);
      else if (key.kind === 'status') presence.observeStatus(key.name, key.slot, value);
      else if (key.kind === 'turn') turns.observe(key.name, alive === undefined ? undefined : ticketOf(alive));
    },
    reset({ nodes, turns: found, statuses }) {
      presence.reset(nodes, statuses);
      const tickets = new Map<string, Ticket>();
      for (const [key, kv] of found) if (key.kind === 'turn') tickets.set(key.name, ticketOf(kv));
      turns.reset(tickets);
    },
  };
}

function ticketOf({ createRevision, modRevision }: KeyValue): Ticket {
  return { created: createRevision, changed: modRevision };
}
