/**
 * `DELETE /v1/peering/:name`: marks the peering as deleted, at once and for good. Its data goes in the background; what
 * is needed to tell the other side stays as a tombstone. Idempotent.
 */
import { type Asked, originOf, writeFor } from '../../credentials/operation.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { findPeering } from '../find/find-peering.ts';
import { TOMBSTONE_MS } from '../limits.ts';
import type { PeeringService } from '../peering-context.ts';
import { checkPeerName } from '../record/peer-name.ts';
import { deletedHere, type Peering, peerings } from '../record/record.ts';
import { recordPeeringChange } from '../record/record-change.ts';
import { acceptedSecrets, links, type Tombstone, tombstones } from '../record/secrets.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function deletePeering({ credentials }: PeeringService, asked: Asked, name: string): Promise<void> {
  checkPeerName(name);
  await writeFor(credentials, asked, (tx) => {
    const { caller, stored } = findPeering(credentials, tx, { asked, name, access: 'write' });
    const next = stored === undefined ? undefined : deletedHere(stored.row, new Date(tx.now).toISOString());
    if (stored === undefined || next === undefined) return;
    const tombstone = tombstoneOf(tx, stored.row, tx.now);
    if (tombstone !== undefined) tx.put(tombstones, tombstone);
    tx.delete(acceptedSecrets, next.id);
    tx.delete(links, next.id);
    const after = tx.put(peerings, next);
    recordPeeringChange(tx, originOf(asked, caller), { action: 'delete', before: stored, after });
  });
}

/** Undefined where the other side never got a secret, or knows already. */
function tombstoneOf(reader: Reader, row: DeepReadonly<Peering>, nowMs: number): DeepReadonly<Tombstone> | undefined {
  const { id: peeringId, role, peer, name, partition } = row;
  const kept = { peeringId, role, until: new Date(nowMs + TOMBSTONE_MS).toISOString() };
  if (role === 'accepting') {
    const { active, pending } = reader.get(acceptedSecrets, peeringId)?.row ?? {};
    const hashes = [active, pending].filter((hash) => hash !== undefined);
    return hashes.length === 0 ? undefined : { ...kept, hashes };
  }
  const link = reader.get(links, peeringId);
  if (link === undefined || peer === undefined) return undefined;
  const { secret, roots, trustDomain } = link.row;
  return { ...kept, hashes: [], link: { secret, roots, trustDomain, peer, name, partition } };
}
