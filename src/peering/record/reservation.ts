/** The hidden reservation of a name while an establish talks to the other cluster. */
import { ServiceError } from '../../http/errors.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { RESERVATION_MS } from '../limits.ts';
import { nameEntry, peerings } from './record.ts';
import { type Reservation, reservations, tombstones } from './secrets.ts';

/** A name in a partition, and who holds it. */
export type HeldName = Pick<Reservation, 'partition' | 'name' | 'id'>;

/** Holds the name for RESERVATION_MS. */
export function reserve(tx: Transaction, held: HeldName): void {
  tx.put(reservations, { ...held, until: new Date(tx.now + RESERVATION_MS).toISOString() });
}

/** Gives the name back, if it is still held by this id. */
export function release(tx: Transaction, { partition, name, id }: HeldName): void {
  const key = nameEntry(partition, name);
  if (tx.get(reservations, key)?.row.id === id) tx.delete(reservations, key);
}

/** Refuses while somebody else holds the name. @throws ServiceError `conflict` */
export function refuseReserved(reader: Reader, { partition, name, id }: Omit<HeldName, 'id'> & { id?: string }): void {
  const held = reader.get(reservations, nameEntry(partition, name));
  if (held === undefined || held.row.id === id) return;
  throw new ServiceError('conflict', `peering "${name}" is being established`);
}

/**
 * Refuses one more peering where there are as many as there may be. Held names count, and so do deleted peerings whose
 * other side has still to be told: each is dialed as one that lives is. @throws ServiceError `rate-limited`
 */
export function refuseTooMany(reader: Reader, peeringsMax: number): void {
  const count = reader.count(peerings) + reader.count(reservations);
  if (count + reader.count(tombstones) < peeringsMax) return;
  const untold = reader.list(tombstones, 'role', 'dialing');
  // For a while a deleted peering has both, a record and a tombstone.
  const gone = untold.filter(({ row }) => reader.get(peerings, row.peeringId) === undefined).length;
  if (count + gone < peeringsMax) return;
  const text = `there are ${peeringsMax} peerings already (limits.peerings)`;
  const deleted = `${gone} of them were deleted, and the other clusters are away and could not be told yet`;
  throw new ServiceError('rate-limited', gone === 0 ? text : `${text}; ${deleted}`);
}
