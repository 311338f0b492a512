/**
 * Configuration entries: what this cluster exports to whom, and which services may call which. One row a partition, a
 * kind and a name. A deleted entry's key can come back, so nothing may ever be owned by an entry.
 */
import { partitionKey } from '../../credentials/partition.ts';
import { type DeepReadonly, defineTable, type Stored } from '../../state/table.ts';

export const KINDS = ['exported-services', 'service-intentions'] as const;
export type Kind = (typeof KINDS)[number];

/** Stands for every name where a rule may say so. */
export const WILDCARD = '*';

/** Who gets an exported service: the cluster behind a peering of the entry's partition, or another partition here. */
export type Consumer = { readonly peer: string } | { readonly partition: string };

/** A service, or all of them, with who gets it. */
export interface ExportLine {
  readonly name: string;
  readonly consumers: readonly Consumer[];
}

/** Who may, or may not, call the destination that the entry is named after. */
export interface IntentionSource {
  readonly name: string;
  /** The peering of the entry's partition through which it comes; undefined: it is a service of this cluster. */
  readonly peer?: string;
  /** Where it is registered; undefined: in the entry's own. Never together with a peer. */
  readonly partition?: string;
  readonly action: 'allow' | 'deny';
  readonly description: string;
}

interface Common {
  /** As first given; compared without regard to case. */
  readonly name: string;
  readonly partition: string;
  readonly meta: Readonly<Record<string, string>>;
}

/** What a partition exports. There is one a partition, which has its name. */
export interface ExportedServicesEntry extends Common {
  readonly kind: 'exported-services';
  readonly services: readonly ExportLine[];
}

/** Who may call a service, or all of them. */
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
});

/** The primary key of an entry. */
export const entryKey = (partition: string, kind: Kind, name: string): string =>
  `${kindEntry(partition, kind)}/${nameKey(name)}`;

/** The index entry under which all entries of a kind in a partition stand. */
export const kindEntry = (partition: string, kind: Kind): string => `${partitionKey(partition)}/${kind}`;

/** The form in which names of services and peers are compared. */
export const nameKey = (name: string): string => name.toLowerCase();

/** The row of a kind. */
export type EntryOf<K extends Kind> = DeepReadonly<Extract<ConfigEntry, { readonly kind: K }>>;

/** The row as what the kind under which it was looked up says it is; undefined stays undefined. */
export function ofKind<K extends Kind>(kind: K, stored: Stored<ConfigEntry> | undefined): EntryOf<K> | undefined {
  if (stored === undefined) return undefined;
  if (stored.row.kind !== kind) throw new TypeError(`an entry of ${stored.row.kind} stands where one of ${kind} does`);
  return stored.row as EntryOf<K>;
}
