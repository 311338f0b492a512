import type { Follower, LiveNode } from '../../engine.ts';
import type { KeyValue } from '../client/gen/etcd_pb.ts';
import { decodeUtf8, type ParsedKey } from '../keys.ts';

/** The value of a `nodes/<name>` key. */
export interface NodeRecord {
  readonly incarnation: string;
  readonly formats: Readonly<Record<string, number>>;
  /** The time at which the node joined, in ISO 8601. Only messages use it. */
  readonly since: string;
}

/** The live nodes and the status rows of the other nodes. Reports changes of them to the follower. */
export interface LiveNodes {
  observeNode(name: string, value: string | null): void;
  observeStatus(node: string, slot: string, value: string | null): void;
  /** Replaces everything with the keys of one revision, and reports the differences. */
  reset(nodes: readonly [ParsedKey, KeyValue][], statuses: readonly [ParsedKey, KeyValue][]): void;
  /** Reports the live nodes if they changed. Called when this node lost its lease or joined again. */
  refresh(): void;
}

/** @param incarnation this node's incarnation, undefined while its lease is lost */
export function createLiveNodes(self: string, incarnation: () => string | undefined, follower: Follower): LiveNodes {
  let nodes = new Map<string, LiveNode>();
  const statuses = new Map<string, { node: string; slot: string; value: string }>();
  let lastReported = '';

  /** This node counts as live only while it holds the lease that its key belongs to [ETCD-72]. */
  const list = (): readonly LiveNode[] =>
    [...nodes.values()].filter((node) => node.name !== self || node.incarnation === incarnation());

  const refresh = (): void => {
    const current = list();
    const encoded = JSON.stringify(current);
    if (encoded === lastReported) return;
    lastReported = encoded;
    follower.onLiveNodes(current);
  };

  const observeStatus = (node: string, slot: string, value: string | null): void => {
    if (node === self) return;
    const id = `${node}/${slot}`;
    if ((statuses.get(id)?.value ?? null) === value) return;
    if (value === null) statuses.delete(id);
    else statuses.set(id, { node, slot, value });
    follower.onStatus(node, slot, value);
  };

  return {
    refresh,
    observeStatus,
    observeNode(name, value) {
      if (value === null) nodes.delete(name);
      else nodes.set(name, toLiveNode(name, value));
      refresh();
    },
    reset(nextNodes, nextStatuses) {
      nodes = new Map();
      for (const [key, kv] of nextNodes) {
        if (key.kind === 'node') nodes.set(key.name, toLiveNode(key.name, decodeUtf8(kv.value)));
      }
      refresh();
      const gone = new Set(statuses.keys());
      for (const [key, kv] of nextStatuses) {
        if (key.kind !== 'status') continue;
        gone.delete(`${key.name}/${key.slot}`);
        observeStatus(key.name, key.slot, decodeUtf8(kv.value));
      }
      for (const id of gone) {
        const row = statuses.get(id);
        if (row !== undefined) observeStatus(row.node, row.slot, null);
      }
    },
  };
}

/** Decodes the value of a node's key. An unreadable value is a live node with unknown formats [ETCD-75]. */
export function parseNode(value: string): NodeRecord {
  try {
    const { incarnation = '', formats = {}, since = '' }: Partial<NodeRecord> = JSON.parse(value);
    return { incarnation, formats, since };
  } catch {
    return { incarnation: '', formats: {}, since: '' };
  }
}

function toLiveNode(name: string, value: string): LiveNode {
  const { incarnation, formats } = parseNode(value);
  return { name, incarnation, formats };
}
