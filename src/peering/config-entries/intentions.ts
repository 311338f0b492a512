/**
 * Decides whether one service may call another ([SVC-86] to [SVC-89]). The matching rule with the highest precedence
 * decides. Names are compared without regard to case.
 */
import { partitionKey } from '../../credentials/partition.ts';
import { derivedFrom } from '../../state/memory/derived-cache.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import { nameEntry, peerings } from '../record/record.ts';
import {
  type ConfigEntry,
  configEntries,
  type EntryOf,
  entryKey,
  type IntentionSource,
  kindEntry,
  nameKey,
  ofKind,
  WILDCARD,
} from './config-entry.ts';

export interface CallSource {
  /** The name of a service. `*` matches only rules of `*`. */
  readonly source: string;
  /** The name of the source's peering in the destination's partition. Undefined: a service of this cluster. */
  readonly sourcePeer?: string | undefined;
  /** The partition of a local source. Defaults to that of the destination. */
  readonly sourcePartition?: string | undefined;
}

export interface ServiceCall extends CallSource {
  /** The partition of the destination. */
  readonly partition: string;
  readonly destination: string;
}

/** One source of one entry. */
export interface Rule {
  readonly entry: EntryOf<'service-intentions'>;
  readonly source: DeepReadonly<IntentionSource>;
  /** 9, 8, 6 or 5, the numbers that Consul uses. The highest decides. */
  readonly precedence: number;
  readonly createIndex: number;
  readonly modifyIndex: number;
}

export interface Decision {
  readonly allowed: boolean;
  /** The rule that decided. Undefined: no rule matched, and the default decided. */
  readonly rule: Rule | undefined;
}

/** @param allowedByDefault whether a call without a matching rule is allowed */
export function decide(reader: Reader, call: ServiceCall, allowedByDefault: boolean): Decision {
  const { partition, destination, sourcePeer } = call;
  const isUnreachable = sourcePeer !== undefined && !isActivePeer(reader, partition, sourcePeer);
  const rule = isUnreachable
    ? undefined
    : rulesFor(reader, partition, destination).find((one) => matchesSource(one, call));
  return { allowed: rule === undefined ? allowedByDefault : rule.source.action === 'allow', rule };
}

/** Whether a peering of this name exists and is not `TERMINATED`. */
export function isActivePeer(reader: Reader, partition: string, name: string): boolean {
  const peering = reader.find(peerings, 'name', nameEntry(partition, name));
  return peering !== undefined && peering.row.state !== 'TERMINATED';
}

/** Returns the rules for a destination, including those of `*`, highest precedence first. */
export function rulesFor(reader: Reader, partition: string, destination: string): readonly Rule[] {
  const names = new Set([nameKey(destination), WILDCARD]);
  return [...names].flatMap((name) => {
    const stored = reader.get(configEntries, entryKey(partition, 'service-intentions', name));
    return stored === undefined ? [] : rulesIn(stored);
  });
}

/** Returns the rules of a partition that match a source, for any destination, highest precedence first. */
export function rulesMatchingSource(reader: Reader, partition: string, callSource: CallSource): readonly Rule[] {
  return reader
    .list(configEntries, 'kind', kindEntry(partition, 'service-intentions'))
    .flatMap(rulesIn)
    .filter((rule) => matchesSource(rule, callSource))
    .sort(byPrecedence);
}

export const precedenceOf = (destination: string, source: string): number =>
  (destination === WILDCARD ? 6 : 9) - (source === WILDCARD ? 1 : 0);

/** Sorts the rules of an entry once, because every decision about its destination reads them. */
const rulesIn = derivedFrom((stored: Stored<ConfigEntry>): readonly Rule[] => {
  const entry = ofKind('service-intentions', stored);
  if (entry === undefined) return [];
  const { createIndex, modifyIndex } = stored;
  return entry.sources
    .map((source) => {
      return { entry, source, precedence: precedenceOf(entry.name, source.name), createIndex, modifyIndex };
    })
    .sort(byPrecedence);
});

function matchesSource({ entry, source }: Rule, callSource: CallSource): boolean {
  const { sourcePeer, sourcePartition = entry.partition } = callSource;
  if (source.name !== WILDCARD && nameKey(source.name) !== nameKey(callSource.source)) return false;
  if (source.peer !== undefined || sourcePeer !== undefined) {
    return source.peer !== undefined && sourcePeer !== undefined && nameKey(source.peer) === nameKey(sourcePeer);
  }
  return partitionKey(source.partition ?? entry.partition) === partitionKey(sourcePartition);
}

/** Sorting is stable, so rules of equal precedence keep the order of their entries. */
const byPrecedence = (a: Rule, b: Rule): number => b.precedence - a.precedence;
