/**
 * `POST /v1/peering/establish`: becomes the dialing side of a peering. The name is held, the token's secret is exchanged
 * with the cluster that made it, and only then something is written: an establish that fails leaves nothing behind. It
 * does not wait for a stream.
 */
import { randomUUID } from 'node:crypto';
import { type Asked, originOf, writeFor } from '../../credentials/operation.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { type EstablishRequest, required } from '../bodies.ts';
import { findPeering, type Wanted, withBodyPartition } from '../find/find-peering.ts';
import { SECRET_CHARACTERS_MAX } from '../limits.ts';
import { ExchangeRefused, ExchangeUnreachable, type PeeringService } from '../peering-context.ts';
import { checkMeta } from '../record/meta.ts';
import { checkNewPeerName } from '../record/peer-name.ts';
import { establishedAgain, newPeering, type Peering, type PeerServer, peerings } from '../record/record.ts';
import { recordPeeringChange } from '../record/record-change.ts';
import { refuseReserved, refuseTooMany, release, reserve } from '../record/reservation.ts';
import { links, streamSecretPlace } from '../record/secrets.ts';
import type { PeeringName } from '../spans.ts';
import { decodeToken } from '../token/decode-token.ts';
import { clusterOf, type PeeringToken, trustDomainOf } from '../token/token.ts';
import { afterRemoval, BeingRemoved, beingDeleted } from './await-removal.ts';

/** An establish whose token and body are as they must be. */
interface Establish {
  readonly wanted: Wanted;
  readonly token: PeeringToken;
  readonly meta: EstablishRequest['Meta'];
  /** Names the reservation, and the record if it is a new one. */
  readonly id: string;
}

/**
 * @param signal ends the wait for a name that is still being removed. Later the caller may leave: a token that is being
 *   exchanged would be spent for nothing
 * @throws ServiceError `bad-request` | `permission-denied` | `conflict` | `rate-limited` | `unavailable`, StateError
 */
export async function establish(
  service: PeeringService,
  given: Asked,
  body: EstablishRequest,
  signal: AbortSignal,
): Promise<void> {
  const doing = 'establishing a peering';
  const name = required(body.PeerName, 'PeerName', doing);
  const text = required(body.PeeringToken, 'PeeringToken', doing);
  checkNewPeerName(name, service.consul);
  const wanted: Wanted = { asked: withBodyPartition(given, body.Partition), name, access: 'write' };
  await refuseWithoutGrant(service, wanted);
  const token = decodeToken(text, service.clock.now());
  checkMeta(body.Meta);
  refuseOwnCluster(service, token);

  const { credentials, clock } = service;
  const { state } = credentials;
  const asked: Establish = { wanted, token, meta: body.Meta, id: randomUUID() };
  const partition = await afterRemoval({ state, clock, name, signal }, () =>
    writeFor(credentials, wanted.asked, (tx) => hold(service, tx, asked)),
  );
  try {
    const streamSecret = await exchange(service, token, { name, partition });
    await state.write((tx) => finish(service, tx, asked, streamSecret));
  } catch (error) {
    // Where the store is away, too, the reservation ends by itself.
    await state.write((tx) => release(tx, { partition, name, id: asked.id })).catch(() => undefined);
    throw error;
  }
}

/** Nothing is read out of a token, and no certificate parsed, for who lacks the grant. */
async function refuseWithoutGrant({ credentials }: PeeringService, wanted: Wanted): Promise<void> {
  await credentials.state.consistent();
  findPeering(credentials, credentials.state.snapshot, wanted);
}

function refuseOwnCluster({ identity }: PeeringService, { ServerName }: PeeringToken): void {
  if (clusterOf(ServerName) !== clusterOf(identity.serverName)) return;
  throw new ServiceError(
    'bad-request',
    `cannot create a peering within the same cluster "${ServerName}": the token was generated here, present it to another cluster`,
  );
}

/** Holds the name for this establish. @returns the partition */
function hold(service: PeeringService, tx: Transaction, { wanted, token, id }: Establish): string | BeingRemoved {
  const { partition, stored } = findPeering(service.credentials, tx, wanted);
  const { name } = wanted;
  refuseReserved(tx, { partition, name });
  if (stored?.row.deletedAt !== undefined) return new BeingRemoved(stored.row.id);
  refuseOther(stored, token, name);
  if (stored === undefined) refuseTooMany(tx, service.peeringsMax);
  reserve(tx, { partition, name, id });
  return partition;
}

/** A name has one role, and means one cluster: what refers to a peer by name must not change its target silently. */
function refuseOther(stored: Stored<Peering> | undefined, token: PeeringToken, name: string): void {
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
  throw new ServiceError('unavailable', 'the other cluster has taken the token and given no stream secret for it');
}

/** Writes what was agreed, unless the peering was deleted meanwhile or the caller may not any more. */
function finish(service: PeeringService, tx: Transaction, asked: Establish, streamSecret: string): void {
  const { wanted, token, id } = asked;
  const { name } = wanted;
  const { caller, partition, stored } = findPeering(service.credentials, tx, wanted);
  refuseReserved(tx, { partition, name, id });
  if (stored?.row.deletedAt !== undefined) throw beingDeleted(name);
  refuseOther(stored, token, name);
  const after = tx.put(peerings, nextRow(asked, partition, stored));
  const peeringId = after.row.id;
  tx.put(links, {
    peeringId,
    secret: service.secrets.seal(streamSecret, streamSecretPlace(peeringId)),
    roots: token.CA,
    trustDomain: trustDomainOf(token.ServerName),
  });
  release(tx, { partition, name, id });
  recordPeeringChange(tx, originOf(wanted.asked, caller), { action: 'establish', before: stored, after });
}

function nextRow(
  { wanted, token, meta, id }: Establish,
  partition: string,
  stored: Stored<Peering> | undefined,
): Peering {
  const remote = { partition: token.Remote.Partition, datacenter: token.Remote.Datacenter };
  const peer = peerServerOf(token);
  if (stored !== undefined) return establishedAgain(stored.row, { peer, remote, meta: meta ?? stored.row.meta });
  const fresh = newPeering({ id, name: wanted.name, partition, role: 'dialing', meta: meta ?? {}, peer });
  return { ...fresh, remote };
}

/** Addresses that were given by hand are the only ones, and stay. */
function peerServerOf({ PeerID, ServerName, ManualServerAddresses, ServerAddresses }: PeeringToken): PeerServer {
  const manual = ManualServerAddresses !== null;
  return { id: PeerID, serverName: ServerName, addresses: manual ? ManualServerAddresses : ServerAddresses, manual };
}
