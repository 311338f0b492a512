/**
 * `POST /v1/peering/establish`: becomes the dialing side of a peering ([PEER-53]). It reserves the name, exchanges the
 * token's secret with the other cluster, and then writes the record, so a failed establish leaves no record. It does
 * not wait for a stream.
 */
import { randomUUID } from 'node:crypto';
import { originOf, type RequestContext, writeForRequest } from '../../credentials/caller.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { type EstablishRequest, required } from '../bodies.ts';
import { findPeering, type PeeringRequest, withBodyPartition } from '../find/find-peering.ts';
import { SECRET_CHARACTERS_MAX } from '../limits.ts';
import { ExchangeRefused, ExchangeUnreachable, type PeeringService } from '../peering-context.ts';
import { checkMeta } from '../record/meta.ts';
import {
  checkNewPeerName,
  newPeering,
  type Peering,
  type PeerServer,
  peerings,
  reestablished,
} from '../record/record.ts';
import { recordPeeringChange } from '../record/record-change.ts';
import { checkNotReserved, checkPeeringLimit, releaseName, reserveName } from '../record/reservation.ts';
import { links, streamSecretContext } from '../record/secrets.ts';
import type { PeeringName } from '../spans.ts';
import { decodeToken } from '../token/decode-token.ts';
import { clusterOf, type PeeringToken, trustDomainOf } from '../token/token.ts';
import { BeingRemoved, beingDeletedError, retryAfterRemoval } from './await-removal.ts';

interface Establish {
  readonly target: PeeringRequest;
  readonly token: PeeringToken;
  readonly meta: EstablishRequest['Meta'];
  /** The ID of the reservation, and of a new record. */
  readonly id: string;
}

/**
 * Establishes a peering.
 * @param signal aborts the wait for a name that is still being removed. The exchange itself is not aborted, because the
 *   token would be lost ([PEER-55])
 * @throws ServiceError `bad-request` | `permission-denied` | `conflict` | `rate-limited` | `unavailable`, StateError
 */
export async function establish(
  service: PeeringService,
  requestContext: RequestContext,
  body: EstablishRequest,
  signal: AbortSignal,
): Promise<void> {
  const doing = 'establishing a peering';
  const name = required(body.PeerName, 'PeerName', doing);
  const text = required(body.PeeringToken, 'PeeringToken', doing);
  checkNewPeerName(name, service.consul);
  const target: PeeringRequest = { context: withBodyPartition(requestContext, body.Partition), name, access: 'write' };
  await checkGrant(service, target);
  const token = decodeToken(text, service.clock.now());
  checkMeta(body.Meta);
  checkOtherCluster(service, token);

  const { credentials, clock } = service;
  const { state } = credentials;
  const request: Establish = { target, token, meta: body.Meta, id: randomUUID() };
  const partition = await retryAfterRemoval({ state, clock, name, signal }, () =>
    writeForRequest(credentials, target.context, (tx) => reserve(service, tx, request)),
  );
  try {
    const streamSecret = await exchange(service, token, { name, partition });
    await state.write((tx) => commit(service, tx, request, streamSecret));
  } catch (error) {
    // If the store is unavailable too, the reservation expires.
    await state.write((tx) => releaseName(tx, { partition, name, id: request.id })).catch(() => undefined);
    throw error;
  }
}

/** Checks the grant before the token is decoded, so that other callers cannot make the server parse certificates. */
async function checkGrant({ credentials }: PeeringService, target: PeeringRequest): Promise<void> {
  await credentials.state.consistent();
  findPeering(credentials, credentials.state.snapshot, target);
}

function checkOtherCluster({ identity }: PeeringService, { ServerName }: PeeringToken): void {
  if (clusterOf(ServerName) !== clusterOf(identity.serverName)) return;
  throw new ServiceError(
    'bad-request',
    `cannot create a peering within the same cluster "${ServerName}": the token was generated here, present it to another cluster`,
  );
}

/** Reserves the name. @returns the partition */
function reserve(service: PeeringService, tx: Transaction, { target, token, id }: Establish): string | BeingRemoved {
  const { partition, stored } = findPeering(service.credentials, tx, target);
  const { name } = target;
  checkNotReserved(tx, { partition, name });
  if (stored?.row.deletedAt !== undefined) return new BeingRemoved(stored.row.id);
  checkSameCluster(stored, token, name);
  if (stored === undefined) checkPeeringLimit(tx, service.peeringsMax);
  reserveName(tx, { partition, name, id });
  return partition;
}

/** Checks that the name has the dialing role and refers to the same cluster as before ([PEER-63], [PEER-64]). */
function checkSameCluster(stored: Stored<Peering> | undefined, token: PeeringToken, name: string): void {
  if (stored === undefined) return;
  const { role, state, peer } = stored.row;
  const cannot = `cannot create peering with name: "${name}"`;
  if (role === 'accepting') {
    throw new ServiceError('conflict', `${cannot}; there is an existing peering expecting to be dialed`);
  }
  if (state === 'TERMINATED' || peer === undefined) return;
  if (clusterOf(peer.serverName) === clusterOf(token.ServerName)) return;
  throw new ServiceError(
    'conflict',
    `${cannot}; there is a peering with another cluster, "${peer.serverName}", and the token is of "${token.ServerName}": delete that peering first`,
  );
}

async function exchange(service: PeeringService, token: PeeringToken, peering: PeeringName): Promise<string> {
  let secret: string;
  try {
    secret = await service.exchange(token, new AbortController().signal, peering);
  } catch (cause) {
    if (cause instanceof ExchangeRefused) {
      const text = 'a new peering token must be generated: invalid peering establishment secret';
      throw new ServiceError('permission-denied', text, { cause });
    }
    if (cause instanceof ExchangeUnreachable) throw new ServiceError('unavailable', cause.message, { cause });
    throw cause;
  }
  if (secret !== '' && secret.length <= SECRET_CHARACTERS_MAX) return secret;
  throw new ServiceError('unavailable', 'the other cluster accepted the token but returned no valid stream secret');
}

/** Writes the record after checking grant, role and deletion again ([PEER-60]). */
function commit(service: PeeringService, tx: Transaction, request: Establish, streamSecret: string): void {
  const { target, token, id } = request;
  const { name } = target;
  const { caller, partition, stored } = findPeering(service.credentials, tx, target);
  checkNotReserved(tx, { partition, name, id });
  if (stored?.row.deletedAt !== undefined) throw beingDeletedError(name);
  checkSameCluster(stored, token, name);
  const after = tx.put(peerings, nextRow(request, partition, stored));
  const peeringId = after.row.id;
  tx.put(links, {
    peeringId,
    secret: service.secrets.encrypt(streamSecret, streamSecretContext(peeringId)),
    roots: token.CA,
    trustDomain: trustDomainOf(token.ServerName),
  });
  releaseName(tx, { partition, name, id });
  recordPeeringChange(tx, originOf(target.context, caller), { action: 'establish', before: stored, after });
}

function nextRow(
  { target, token, meta, id }: Establish,
  partition: string,
  stored: Stored<Peering> | undefined,
): Peering {
  const remote = { partition: token.Remote.Partition, datacenter: token.Remote.Datacenter };
  const peer = peerServerOf(token);
  if (stored !== undefined) return reestablished(stored.row, { peer, remote, meta: meta ?? stored.row.meta });
  const fresh = newPeering({ id, name: target.name, partition, role: 'dialing', meta: meta ?? {}, peer });
  return { ...fresh, remote };
}

/** Manual addresses, if any, are the only addresses ([PEER-19]). */
function peerServerOf({ PeerID, ServerName, ManualServerAddresses, ServerAddresses }: PeeringToken): PeerServer {
  const manual = ManualServerAddresses !== null;
  return { id: PeerID, serverName: ServerName, addresses: manual ? ManualServerAddresses : ServerAddresses, manual };
}
