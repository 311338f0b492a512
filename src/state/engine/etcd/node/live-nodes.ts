import type { Follower, LiveNode, NodeIdentity, TableFormats } from '../../engine.ts';
import type { NodeKeys } from '../follow/load.ts';
import { decodeUtf8 } from '../keys.ts';

/** The value of a `nodes/<name>` key. */
export interface NodeRecord {
  readonly incarnation: string;
  /** The newest row formats that the node reads. */
  readonly formats: TableFormats;
  /** The time at which the node joined, in ISO 8601. Only messages use it. */
  readonly since: string;
}

/**
 * The live nodes, the status rows of the other nodes, and the row formats that all nodes read. Reports changes of them to
 * the follower.
 */
export interface LiveNodes {
  observeNode(name: string, value: string | null): void;
  observeFormats(name: string, value: string | null): void;
  /** Sets the row formats that the head names [ETCD-90]. */
  setStoredFormats(formats: TableFormats | undefined): void;
  observeStatus(node: string, slot: string, value: string | null): void;
  /** Replaces everything with the keys of one revision, and reports the differences. */
  reset(nodes: NodeKeys['nodes'], formats: NodeKeys['formats'], statuses: NodeKeys['statuses']): void;
  /** Reports the live nodes if they changed. Called when this node lost its lease or joined again. */
  refresh(): void;
}

/** @param incarnation this node's incarnation, undefined while its lease is lost */
export function createLiveNodes(
  self: NodeIdentity,
  incarnation: () => string | undefined,
  follower: Follower,
): LiveNodes {
  let nodes = new Map<string, NodeRecord>();
  /** The formats of every node that is live or may return [ETCD-89]. */
  let formatsByNode = new Map<string, TableFormats>();
  let storedFormats: TableFormats | undefined;
  let lastReportedFormats = '';
  const statuses = new Map<string, { node: string; slot: string; value: string }>();
  let lastReported = '';

  /** This node counts as live only while it holds the lease that its key belongs to [ETCD-72]. */
  const list = (): readonly LiveNode[] =>
    [...nodes]
      .map(([name, record]) => ({ name, incarnation: record.incarnation }))
      .filter((node) => node.name !== self.node || node.incarnation === incarnation());

  /** Reports the newest formats that every node reads, and never older ones than the store contains. */
  const refreshFormats = (): void => {
    const readers = [...nodes.values()].map(({ formats }) => formats);
    for (const [name, formats] of formatsByNode) if (!nodes.has(name)) readers.push(formats);
    const readable = Object.entries(self.formats).map(([table, own]): [string, number] => {
      const newest = Math.min(own, ...readers.map((formats) => formats[table] ?? own));
      return [table, Math.max(newest, storedFormats?.[table] ?? 1)];
    });
    const encoded = JSON.stringify(readable);
    if (encoded === lastReportedFormats) return;
    lastReportedFormats = encoded;
    follower.onFormats(Object.fromEntries(readable));
  };

  const refresh = (): void => {
    refreshFormats();
    const current = list();
    const encoded = JSON.stringify(current);
    if (encoded === lastReported) return;
    lastReported = encoded;
    follower.onLiveNodes(current);
  };

  const observeStatus = (node: string, slot: string, value: string | null): void => {
    if (node === self.node) return;
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
      else nodes.set(name, parseNode(value));
      refresh();
    },
    observeFormats(name, value) {
      if (value === null) formatsByNode.delete(name);
      else formatsByNode.set(name, parseNode(value).formats);
      refreshFormats();
    },
    setStoredFormats(formats) {
      if (formats === storedFormats) return;
      storedFormats = formats;
      refreshFormats();
    },
    reset(nextNodes, nextFormats, nextStatuses) {
      nodes = new Map();
      for (const [key, kv] of nextNodes) {
        if (key.kind === 'node') nodes.set(key.name, parseNode(decodeUtf8(kv.value)));
      }
      formatsByNode = new Map();
      for (const [key, kv] of nextFormats) {
        if (key.kind === 'formats') formatsByNode.set(key.name, parseNode(decodeUtf8(kv.value)).formats);
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

/** Decodes the value of a key of a node. An unreadable value is a live node with unknown formats [ETCD-75]. */
export function parseNode(value: string): NodeRecord {
  try {
    const { incarnation = '', formats, since = '' }: Partial<NodeRecord> = JSON.parse(value);
    const known = Object.entries(formats ?? {}).filter(([, format]) => Number.isSafeInteger(format));
    return { incarnation, formats: Object.fromEntries(known), since };
  } catch {
    return { incarnation: '', formats: {}, since: '' };
  }
}
