/** Reservation of a name while an establish is in flight ([PEER-54]), and the limit on the number of peerings. */
import { ServiceError } from '../../http/errors.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { RESERVATION_TTL_MS } from '../limits.ts';
import { nameEntry, peerings } from './record.ts';
import { type Reservation, reservations, tombstones } from './secrets.ts';

export type ReservedName = Pick<Reservation, 'partition' | 'name' | 'id'>;

export function reserveName(tx: Transaction, name: ReservedName): void {
  tx.put(reservations, { ...name, until: new Date(tx.now + RESERVATION_TTL_MS).toISOString() });
}

/** Releases the name if this ID still reserves it. */
export function releaseName(tx: Transaction, { partition, name, id }: ReservedName): void {
  const key = nameEntry(partition, name);
  if (tx.get(reservations, key)?.row.id === id) tx.delete(reservations, key);
}

/** @throws ServiceError `conflict` while another establish reserves the name */
export function checkNotReserved(
  reader: Reader,
  { partition, name, id }: Omit<ReservedName, 'id'> & { id?: string },
): void {
  const reservation = reader.get(reservations, nameEntry(partition, name));
  if (reservation === undefined || reservation.row.id === id) return;
  throw new ServiceError('conflict', `peering "${name}" is being established`);
}

/**
 * Checks that one more peering is within `limits.peerings` ([PEER-39]). Reservations count, and so do tombstones of the
 * dialing role, because the server dials for each of them. @throws ServiceError `rate-limited`
 */
export function checkPeeringLimit(reader: Reader, peeringsMax: number): void {
  const count = reader.count(peerings) + reader.count(reservations);
  if (count + reader.count(tombstones) < peeringsMax) return;
  const unconfirmed = reader.list(tombstones, 'role', 'dialing');
  // Until its record is removed, a deleted peering has both a record and a tombstone.
  const deletedCount = unconfirmed.filter(({ row }) => reader.get(peerings, row.peeringId) === undefined).length;
  if (count + deletedCount < peeringsMax) return;
  const text = `there are ${peeringsMax} peerings already (limits.peerings)`;
  const deleted = `${deletedCount} of them are deleted and wait for the confirmation of clusters that are unreachable`;
  throw new ServiceError('rate-limited', deletedCount === 0 ? text : `${text}; ${deleted}`);
}
