/**
 * The table of configuration entries: exported services and intentions. Each row has a unique partition, kind and name
 * ([SVC-61]). The key of a deleted entry can be used again, so no row may have an entry as its owner.
 */
import { partitionKey, partitions } from '../../credentials/partition.ts';
import { type DeepReadonly, defineTable, type Stored } from '../../state/table.ts';

export const KINDS = ['exported-services', 'service-intentions'] as const;
export type Kind = (typeof KINDS)[number];

/** Matches every name, where a rule allows it. */
export const WILDCARD = '*';

/** A consumer of an exported service: a peer of the entry's partition, or another partition of this cluster. */
export type Consumer = { readonly peer: string } | { readonly partition: string };

/** A line of an `exported-services` entry: a service name or `*`, with its consumers. */
export interface ExportRule {
  readonly name: string;
  readonly consumers: readonly Consumer[];
}

/** A source of a `service-intentions` entry, whose calls to the entry's destination are allowed or denied. */
export interface IntentionSource {
  readonly name: string;
  /** The name of the source's peering in the entry's partition. Undefined: a service of this cluster. */
  readonly peer?: string;
  /** The partition of a local source. Undefined: the partition of the entry. Never set together with `peer`. */
  readonly partition?: string;
  readonly action: 'allow' | 'deny';
  readonly description: string;
}

interface Common {
  /** Spelled as in the first write. Comparisons ignore case. */
  readonly name: string;
  readonly partition: string;
  readonly meta: Readonly<Record<string, string>>;
}

/** The services that a partition exports. A partition has at most one such entry, with its own name ([SVC-71]). */
export interface ExportedServicesEntry extends Common {
  readonly kind: 'exported-services';
  readonly services: readonly ExportRule[];
}

/** The sources that may call a service, or with the name `*` any service ([SVC-84]). */
export interface ServiceIntentionsEntry extends Common {
  readonly kind: 'service-intentions';
  readonly sources: readonly IntentionSource[];
}

export type ConfigEntry = ExportedServicesEntry | ServiceIntentionsEntry;

export const configEntries = defineTable<ConfigEntry>()({
  name: 'config-entries',
  key: ({ partition, kind, name }) => entryKey(partition, kind, name),
  formats: { version: 1 },
  indexes: {
    kind: { entry: ({ partition, kind }) => kindEntry(partition, kind), watched: true },
  },
  countsToward: [{ table: partitions, key: ({ partition }) => partitionKey(partition) }],
});

export const entryKey = (partition: string, kind: Kind, name: string): string =>
  `${kindEntry(partition, kind)}/${nameKey(name)}`;

/** Returns the index entry that contains all entries of a kind in a partition. */
export const kindEntry = (partition: string, kind: Kind): string => `${partitionKey(partition)}/${kind}`;

/** Returns the form of a service or peer name that comparisons use. */
export const nameKey = (name: string): string => name.toLowerCase();

export type EntryOf<K extends Kind> = DeepReadonly<Extract<ConfigEntry, { readonly kind: K }>>;

/** Narrows a row to the kind in its key. @throws TypeError if the row has another kind, which is a bug */
export function ofKind<K extends Kind>(kind: K, stored: Stored<ConfigEntry> | undefined): EntryOf<K> | undefined {
  if (stored === undefined) return undefined;
  if (stored.row.kind !== kind) throw new TypeError(`entry has kind ${stored.row.kind}, want ${kind}`);
  return stored.row as EntryOf<K>;
}
