/**
 * `DELETE /v1/peering/:name`: marks the peering as deleted ([PEER-65]). A background job removes its data. A tombstone
 * remains to report the deletion to the other side.
 */
import { originOf, type RequestContext, writeForRequest } from '../../credentials/caller.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { findPeering } from '../find/find-peering.ts';
import { TOMBSTONE_TTL_MS } from '../limits.ts';
import type { PeeringService } from '../peering-context.ts';
import { checkPeerName, markDeleted, type Peering, peerings } from '../record/record.ts';
import { recordPeeringChange } from '../record/record-change.ts';
import { acceptedSecrets, links, type Tombstone, tombstones } from '../record/secrets.ts';

/**
 * Marks the peering as deleted. Succeeds when the peering is missing ([PEER-66]).
 * @throws ServiceError `bad-request` | `permission-denied`; StateError
 */
export async function deletePeering(
  { credentials }: PeeringService,
  context: RequestContext,
  name: string,
): Promise<void> {
  checkPeerName(name);
  const remove = (tx: Transaction): void => {
    const { caller, stored } = findPeering(credentials, tx, { context, name, access: 'write' });
    const next = stored === undefined ? undefined : markDeleted(stored.row, new Date(tx.now).toISOString());
    if (stored === undefined || next === undefined) return;
    const tombstone = tombstoneOf(tx, stored.row, tx.now);
    if (tombstone !== undefined) tx.put(tombstones, tombstone);
    tx.delete(acceptedSecrets, next.id);
    tx.delete(links, next.id);
    const after = tx.put(peerings, next);
    recordPeeringChange(tx, originOf(context, caller), { action: 'delete', before: stored, after });
  };
  await writeForRequest(credentials, context, remove, { isRemoval: true });
}

/** Returns `undefined` when the other side never received a secret, or terminated the peering itself ([PEER-71]). */
function tombstoneOf(reader: Reader, row: DeepReadonly<Peering>, nowMs: number): DeepReadonly<Tombstone> | undefined {
  const { id: peeringId, role, peer, name, partition } = row;
  const base = { peeringId, role, until: new Date(nowMs + TOMBSTONE_TTL_MS).toISOString() };
  if (role === 'accepting') {
    const { active, pending } = reader.get(acceptedSecrets, peeringId)?.row ?? {};
    const hashes = [active, pending].filter((hash) => hash !== undefined);
    return hashes.length === 0 ? undefined : { ...base, hashes };
  }
  const link = reader.get(links, peeringId);
  if (link === undefined || peer === undefined) return undefined;
  const { secret, roots, trustDomain } = link.row;
  return { ...base, hashes: [], link: { secret, roots, trustDomain, peer, name, partition } };
}
