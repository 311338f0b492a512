import type { Follower, Member } from '../../engine.ts';
import type { KeyValue } from '../client/gen/etcd_pb.ts';
import { type ParsedKey, text } from '../keys.ts';

/** The value of a node's key. */
export interface NodeRecord {
  readonly incarnation: string;
  readonly formats: Readonly<Record<string, number>>;
  /** When it joined, ISO 8601; for people. */
  readonly since: string;
}

/** Who is alive, and the status rows of the others, as the follower is told of them. */
export interface Presence {
  observeNode(name: string, value: string | null): void;
  observeStatus(node: string, slot: string, value: string | null): void;
  /** Replaces everything by what was read at one revision; the follower hears of the differences. */
  reset(nodes: readonly [ParsedKey, KeyValue][], statuses: readonly [ParsedKey, KeyValue][]): void;
  /** This node's lease was lost or won: tells the members again. */
  refresh(): void;
  members(): readonly Member[];
}

/** `incarnation` is this node's own, undefined while its lease is lost. */
export function createPresence(self: string, incarnation: () => string | undefined, follower: Follower): Presence {
  let nodes = new Map<string, Member>();
  const statuses = new Map<string, { node: string; slot: string; value: string }>();
  let told = '';

  /** Of this node's own key only the one that belongs to the lease it holds counts. */
  const members = (): readonly Member[] =>
    [...nodes.values()].filter((member) => member.name !== self || member.incarnation === incarnation());

  const refresh = (): void => {
    const now = members();
    const telling = JSON.stringify(now);
    if (telling === told) return;
    told = telling;
    follower.onMembers(now);
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
    members,
    refresh,
    observeStatus,
    observeNode(name, value) {
      if (value === null) nodes.delete(name);
      else nodes.set(name, memberOf(name, value));
      refresh();
    },
    reset(nextNodes, nextStatuses) {
      nodes = new Map();
      for (const [key, kv] of nextNodes) {
        if (key.kind === 'node') nodes.set(key.name, memberOf(key.name, text(kv.value)));
      }
      refresh();
      const gone = new Set(statuses.keys());
      for (const [key, kv] of nextStatuses) {
        if (key.kind !== 'status') continue;
        gone.delete(`${key.name}/${key.slot}`);
        observeStatus(key.name, key.slot, text(kv.value));
      }
      for (const id of gone) {
        const row = statuses.get(id);
        if (row !== undefined) observeStatus(row.node, row.slot, null);
      }
    },
  };
}

/** What stands in a node's key; a key that cannot be read is a node about which nothing is known. */
export function parseNode(value: string): NodeRecord {
  try {
    const { incarnation = '', formats = {}, since = '' }: Partial<NodeRecord> = JSON.parse(value);
    return { incarnation, formats, since };
  } catch {
    return { incarnation: '', formats: {}, since: '' };
  }
}

function memberOf(name: string, value: string): Member {
  const { incarnation, formats } = parseNode(value);
  return { name, incarnation, formats };
}
