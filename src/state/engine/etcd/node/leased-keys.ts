import type { Clock } from '../../../clock/clock.ts';
import type { Follower } from '../../engine.ts';
import { Event_Type, type KeyValue } from '../client/gen/etcd_pb.ts';
import { type CommitFairness, createCommitFairness, type Ticket } from '../commit/commit-fairness.ts';
import type { OnLeasedKey } from '../follow/commit-tracker.ts';
import type { LeasedKeys } from '../follow/load.ts';
import { decodeUtf8 } from '../keys.ts';
import { createLiveNodes, type LiveNodes } from './live-nodes.ts';

/** This node's view of all leased keys: live nodes, status rows, and tickets. */
export interface LeasedKeysView {
  readonly liveNodes: LiveNodes;
  readonly fairness: CommitFairness;
  readonly observe: OnLeasedKey;
  reset(leased: LeasedKeys): void;
}

export function createLeasedKeysView(
  self: string,
  incarnation: () => string | undefined,
  follower: Follower,
  clock: Clock,
): LeasedKeysView {
  const liveNodes = createLiveNodes(self, incarnation, follower);
  const fairness = createCommitFairness(self, clock);
  return {
    liveNodes,
    fairness,
    observe(key, { type, kv }) {
      const current = type === Event_Type.DELETE ? undefined : kv;
      const value = current === undefined ? null : decodeUtf8(current.value);
      if (key.kind === 'node') liveNodes.observeNode(key.name, value);
      else if (key.kind === 'status') liveNodes.observeStatus(key.name, key.slot, value);
      else if (key.kind === 'ticket') fairness.observe(key.name, current === undefined ? undefined : toTicket(current));
    },
    reset({ nodes, tickets: found, statuses }) {
      liveNodes.reset(nodes, statuses);
      const tickets = new Map<string, Ticket>();
      for (const [key, kv] of found) if (key.kind === 'ticket') tickets.set(key.name, toTicket(kv));
      fairness.reset(tickets);
    },
  };
}

function toTicket({ createRevision, modRevision }: KeyValue): Ticket {
  return { created: createRevision, changed: modRevision };
}
