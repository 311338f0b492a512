/** The names in a peer's list whose services can be found, which a record keeps for the API ([PEER-104]). */
import { derivedFrom } from '../../../state/memory/derived-cache.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { importedServiceKey, importedServices } from '../../catalog/tables/imported-service.ts';
import { nameKey } from '../../config-entries/config-entry.ts';
import { type Peering, peerings } from '../../record/record.ts';

type Row = DeepReadonly<Peering>;

/** Returns those of the sorted names whose services have instances. */
export const foundIn = (reader: Reader, peeringId: string, names: readonly string[]): readonly string[] =>
  names.filter((name) => reader.get(importedServices, importedServiceKey(peeringId, name)) !== undefined);

/** Updates the found names of the record. Puts nothing if they are unchanged. */
export function putFound(tx: Transaction, row: Row): void {
  const found = foundIn(tx, row.id, row.imported);
  if (!isSameList(row.found ?? [], found)) tx.put(peerings, { ...row, found });
}

export const isListed = ({ imported }: Row, service: string): boolean => keysOf(imported).has(nameKey(service));

const keysOf = derivedFrom((names: readonly string[]): ReadonlySet<string> => new Set(names.map(nameKey)));

export const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, i) => name === b[i]);
