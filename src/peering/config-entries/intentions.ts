/**
 * Whether one service may call another; pure. Rules: services-decisions.
 *
 * Of the rules that match, the one with the highest precedence decides: one for exactly the destination beats one for
 * `*`; of those, one of exactly the source beats one of `*`. A source with a peer is only ever matched by the same
 * service behind that peer, and a local one only by a local one, `*` included. What names a peer that is not there, or
 * whose peering has ended, matches nothing. Names are compared without regard to case.
 */
import { partitionKey } from '../../credentials/partition.ts';
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

/** Who wants to call. */
export interface Caller {
  /** A service's name; `*` is matched by rules of `*` only. */
  readonly source: string;
  /** The peering through which it comes, by its name in the destination's partition; undefined: it is local. */
  readonly sourcePeer?: string | undefined;
  /** The partition where a local one is registered; the destination's unless given. */
  readonly sourcePartition?: string | undefined;
}

/** A call. */
export interface Attempt extends Caller {
  /** Where the destination is registered. */
  readonly partition: string;
  readonly destination: string;
}

/** One source of one entry: what can decide. */
export interface Rule {
  readonly entry: EntryOf<'service-intentions'>;
  readonly source: DeepReadonly<IntentionSource>;
  /** The higher one decides: 9, 8, 6 or 5, as Consul numbers them. */
  readonly precedence: number;
  readonly createIndex: number;
  readonly modifyIndex: number;
}

export interface Decision {
  readonly allowed: boolean;
  /** What decided; undefined: nothing matched, and the default did. */
  readonly rule: Rule | undefined;
}

/** @param allowedByDefault what holds where no rule matches */
export function decide(reader: Reader, attempt: Attempt, allowedByDefault: boolean): Decision {
  const { partition, destination, sourcePeer } = attempt;
  const isCut = sourcePeer !== undefined && !isPeer(reader, partition, sourcePeer);
  const rule = isCut ? undefined : rulesFor(reader, partition, destination).find((one) => matchesCaller(one, attempt));
  return { allowed: rule === undefined ? allowedByDefault : rule.source.action === 'allow', rule };
}

/** Whether something can come through a peering of this name. */
export function isPeer(reader: Reader, partition: string, name: string): boolean {
  const peering = reader.find(peerings, 'name', nameEntry(partition, name));
  return peering !== undefined && peering.row.state !== 'TERMINATED';
}

/** The rules for a destination, the one with the highest precedence first. `*` has only its own. */
export function rulesFor(reader: Reader, partition: string, destination: string): readonly Rule[] {
  const names = new Set([nameKey(destination), WILDCARD]);
  return [...names].flatMap((name) =>
    rulesIn(reader.get(configEntries, entryKey(partition, 'service-intentions', name))),
  );
}

/** The rules of a partition that match a caller, whatever it calls. */
export function rulesOfCaller(reader: Reader, partition: string, caller: Caller): readonly Rule[] {
  return reader
    .list(configEntries, 'kind', kindEntry(partition, 'service-intentions'))
    .flatMap(rulesIn)
    .filter((rule) => matchesCaller(rule, caller))
    .sort(byPrecedence);
}

/** The precedence of a source of an entry of the given name. */
export const precedenceOf = (destination: string, source: string): number =>
  (destination === WILDCARD ? 6 : 9) - (source === WILDCARD ? 1 : 0);

/** By the entry, which never changes: every call to its destination asks for them. */
const rulesByEntry = new WeakMap<Stored<ConfigEntry>, readonly Rule[]>();

/** The rules of an entry, the one with the highest precedence first. */
function rulesIn(stored: Stored<ConfigEntry> | undefined): readonly Rule[] {
  const entry = ofKind('service-intentions', stored);
  if (stored === undefined || entry === undefined) return [];
  return rulesByEntry.getOrInsertComputed(stored, ({ createIndex, modifyIndex }) =>
    entry.sources
      .map((source) => {
        return { entry, source, precedence: precedenceOf(entry.name, source.name), createIndex, modifyIndex };
      })
      .sort(byPrecedence),
  );
}

function matchesCaller({ entry, source }: Rule, caller: Caller): boolean {
  const { sourcePeer, sourcePartition = entry.partition } = caller;
  if (source.name !== WILDCARD && nameKey(source.name) !== nameKey(caller.source)) return false;
  if (source.peer !== undefined || sourcePeer !== undefined) {
    return source.peer !== undefined && sourcePeer !== undefined && nameKey(source.peer) === nameKey(sourcePeer);
  }
  return partitionKey(source.partition ?? entry.partition) === partitionKey(sourcePartition);
}

/** Sorting is stable, so equals stand in the order of their entries and within them. */
const byPrecedence = (a: Rule, b: Rule): number => b.precedence - a.precedence;
