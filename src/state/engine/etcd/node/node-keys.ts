import type { Clock } from '../../../clock/clock.ts';
import type { Follower, NodeIdentity } from '../../engine.ts';
import { Event_Type, type KeyValue } from '../client/gen/etcd_pb.ts';
import { RESERVES } from '../commit/commit.ts';
import { type CommitFairness, createCommitFairness, type Ticket } from '../commit/commit-fairness.ts';
import type { OnNodeKey } from '../follow/commit-tracker.ts';
import type { NodeKeys } from '../follow/load.ts';
import { decodeUtf8 } from '../keys.ts';
import { createLiveNodes, type LiveNodes } from './live-nodes.ts';

/** This node's view of the keys of all nodes: live nodes, row formats, status rows, and tickets. */
export interface NodeKeysView {
  readonly liveNodes: LiveNodes;
  readonly fairness: CommitFairness;
  readonly observe: OnNodeKey;
  reset(found: NodeKeys): void;
}

export function createNodeKeysView(
  self: NodeIdentity,
  incarnation: () => string | undefined,
  follower: Follower,
  clock: Clock,
): NodeKeysView {
  const liveNodes = createLiveNodes(self, incarnation, follower);
  const fairness = createCommitFairness(self.node, clock);
  return {
    liveNodes,
    fairness,
    observe(key, { type, kv }) {
      const current = type === Event_Type.DELETE ? undefined : kv;
      const value = current === undefined ? null : decodeUtf8(current.value);
      if (key.kind === 'node') liveNodes.observeNode(key.name, value);
      else if (key.kind === 'formats') liveNodes.observeFormats(key.name, value);
      else if (key.kind === 'status') liveNodes.observeStatus(key.name, key.slot, value);
      else if (key.kind === 'ticket') fairness.observe(key.name, current === undefined ? undefined : toTicket(current));
    },
    reset({ nodes, formats, tickets: found, statuses }) {
      liveNodes.reset(nodes, formats, statuses);
      const tickets = new Map<string, Ticket>();
      for (const [key, kv] of found) if (key.kind === 'ticket') tickets.set(key.name, toTicket(kv));
      fairness.reset(tickets);
    },
  };
}

function toTicket({ createRevision, modRevision, value }: KeyValue): Ticket {
  const reserves = decodeUtf8(value).endsWith(RESERVES);
  return { created: createRevision, changed: modRevision, reserves };
}
