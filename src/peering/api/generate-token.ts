/**
 * `POST /v1/peering/token`: generates a token for the other cluster, and the record of the accepting side if it does
 * not exist. The previous unused token becomes invalid. A live stream remains ([PEER-34]).
 */
import { randomUUID } from 'node:crypto';
import { originOf, type RequestContext, writeForRequest } from '../../credentials/caller.ts';
import { ServiceError } from '../../http/errors.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { required, type TokenRequest } from '../bodies.ts';
import { findPeering, withBodyPartition } from '../find/find-peering.ts';
import type { PeeringService } from '../peering-context.ts';
import { checkMeta } from '../record/meta.ts';
import { checkNewPeerName, newPeering, type Peering, peerings } from '../record/record.ts';
import { recordPeeringChange } from '../record/record-change.ts';
import { checkNotReserved, checkPeeringLimit } from '../record/reservation.ts';
import { acceptedSecrets, type Establishment, hashOf } from '../record/secrets.ts';
import { checkServerAddresses } from '../record/server-address.ts';
import { encodeToken } from '../token/token.ts';
import { BeingRemoved, retryAfterRemoval } from './await-removal.ts';

/** The response, which is the only one that contains the token. */
export interface GeneratedToken {
  readonly PeeringToken: string;
}

/**
 * Generates a token.
 * @param signal aborts the wait for a name that is still being removed
 * @throws ServiceError `bad-request` | `permission-denied` | `conflict` | `rate-limited`, StateError
 */
export async function generateToken(
  service: PeeringService,
  requestContext: RequestContext,
  body: TokenRequest,
  signal: AbortSignal,
): Promise<GeneratedToken> {
  const name = required(body.PeerName, 'PeerName', 'generating a new peering token');
  checkNewPeerName(name, service.consul);
  const { credentials, clock } = service;
  const { state } = credentials;
  const context = withBodyPartition(requestContext, body.Partition);
  const addresses = body.ServerExternalAddresses ?? [];
  const id = randomUUID();
  const secret = randomUUID();
  const hash = hashOf(secret);

  const generate = (tx: Transaction): Stored<Peering> | BeingRemoved => {
    const { caller, partition, stored } = findPeering(credentials, tx, { context, name, access: 'write' });
    checkMeta(body.Meta);
    checkServerAddresses(addresses);
    checkNotReserved(tx, { partition, name });
    if (stored?.row.deletedAt !== undefined) return new BeingRemoved(stored.row.id);
    checkNotDialing(stored?.row, name);
    const before = removeTerminated(tx, stored);
    if (before === undefined) checkPeeringLimit(tx, service.peeringsMax);
    const after =
      before === undefined
        ? tx.put(peerings, newPeering({ id, name, partition, role: 'accepting', meta: body.Meta ?? {} }))
        : withMeta(tx, before, body.Meta);
    const peeringId = after.row.id;
    const establishment = newEstablishment(service, hash, caller.accessorId, tx.now);
    tx.put(acceptedSecrets, { ...tx.get(acceptedSecrets, peeringId)?.row, peeringId, establishment });
    recordPeeringChange(tx, originOf(context, caller), { action: 'generate-token', before: stored, after });
    return after;
  };
  const stored = await retryAfterRemoval({ state, clock, name, signal }, () =>
    writeForRequest(credentials, context, generate),
  );
  return { PeeringToken: tokenFor(service, stored.row, secret, addresses) };
}

function checkNotDialing(row: DeepReadonly<Peering> | undefined, name: string): void {
  if (row?.role !== 'dialing') return;
  const text = `cannot create peering with name: "${name}"; there is already an established peering`;
  throw new ServiceError('conflict', text);
}

/** Removes a record that the other side terminated, so that the new one gets a new ID ([PEER-35]). */
function removeTerminated(tx: Transaction, stored: Stored<Peering> | undefined): Stored<Peering> | undefined {
  if (stored?.row.state !== 'TERMINATED') return stored;
  tx.delete(acceptedSecrets, stored.row.id);
  tx.delete(peerings, stored.row.id);
  return undefined;
}

/** Replaces `Meta`. Equal `Meta` does not write the record, so its index does not change. */
function withMeta(tx: Transaction, stored: Stored<Peering>, meta: TokenRequest['Meta']): Stored<Peering> {
  if (meta === undefined || sameMeta(meta, stored.row.meta)) return stored;
  return tx.put(peerings, { ...stored.row, meta });
}

function sameMeta(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}

function newEstablishment(
  { tokenTtlMs }: PeeringService,
  hash: string,
  accessorId: string | undefined,
  nowMs: number,
): Establishment {
  return {
    hash,
    ...(accessorId !== undefined && { accessorId }),
    createTime: new Date(nowMs).toISOString(),
    ...(tokenTtlMs !== 0 && { expirationTime: new Date(nowMs + tokenTtlMs).toISOString() }),
  };
}

function tokenFor(
  { credentials, identity, addresses }: PeeringService,
  row: DeepReadonly<Peering>,
  secret: string,
  external: readonly string[],
): string {
  return encodeToken({
    CA: identity.roots(credentials.state.snapshot),
    ManualServerAddresses: external.length === 0 ? null : external,
    ServerAddresses: addresses(),
    ServerName: identity.serverName,
    PeerID: row.id,
    EstablishmentSecret: secret,
    Remote: {
      // The community edition has no partitions. Consul leaves the field empty too.
      Partition: credentials.edition === 'community' ? '' : row.partition,
      Datacenter: identity.datacenter,
      Locality: null,
    },
  });
}
