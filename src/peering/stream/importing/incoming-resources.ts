/** Applies the resources that a peer sends. */
import { Code } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import type { State } from '../../../state/state.ts';
import { ADDRESSES_MAX, BACKOFF_MS_MIN, IMPORTED_SERVICES_MAX } from '../../limits.ts';
import { peerings, recordBytes } from '../../record/record.ts';
import { isDnsName, isServerAddress } from '../../record/server-address.ts';
import { lookupPeeringName } from '../../spans.ts';
import { RootError, unexpiredRoots } from '../../trust/roots.ts';
import { ApplyRefused, type IncomingResources } from '../contract.ts';
import { DIGEST_HASH_BYTES_MAX, FOREIGN_ROOTS_ATTEMPTS } from '../limits.ts';
import type { ExportDigest } from '../wire/gen/peering/digest_pb.ts';
import type { PeeringServerAddresses, PeeringTrustBundle } from '../wire/gen/peering/peering_pb.ts';
import type { Resource } from '../wire/resources.ts';
import { createDeliveryRecorder, type DeliveryRecorder } from './delivery-recorder.ts';
import { fencedWrites } from './fenced-writes.ts';
import type { ImportBudgets } from './import-budgets.ts';
import { createImportSpans } from './import-spans.ts';
import { incomingServices, toRefusal } from './incoming-services.ts';
import { ForeignRoots, putBundle } from './put-bundle.ts';
import { checkServiceNames } from './service-names.ts';

export interface IncomingResourcesDependencies {
  readonly state: State;
  readonly clock: Clock;
  readonly budgets: ImportBudgets;
  /** This cluster's. No peer has it. */
  readonly identity: { readonly trustDomain: string };
}

/** @param epoch the stream's epoch. Resources wait for it. It rejects when the stream never becomes current. */
export function incomingResources(
  { state, clock, budgets, identity }: IncomingResourcesDependencies,
  peeringId: string,
  epoch: Promise<number>,
): IncomingResources & { readonly delivery: DeliveryRecorder } {
  const budget = budgets.of(peeringId);
  const writes = fencedWrites({ state, clock, budget }, peeringId, epoch);
  const delivery = createDeliveryRecorder(clock);
  const spans = createImportSpans(() => lookupPeeringName(state.snapshot, peeringId));
  const services = incomingServices({ state, clock, writes, recorder: delivery, budget }, peeringId);

  async function applyRoots({ TrustDomain, RootPEMs }: PeeringTrustBundle, signal: AbortSignal): Promise<void> {
    const roots = usableRoots(RootPEMs, clock.now());
    if (!isDnsName(TrustDomain)) {
      const named = JSON.stringify(TrustDomain.slice(0, 64));
      throw new ApplyRefused(Code.InvalidArgument, `the trust bundle is of ${named}, which is not a trust domain`);
    }
    const bundle = { trustDomain: TrustDomain, roots };
    // The bundle is stored twice: for TLS, and for the services of the peer.
    const bytes = 2 * roots.join().length;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await writes.write(bytes, signal, (tx) => putBundle(tx, peeringId, bundle, identity.trustDomain));
        return;
      } catch (error) {
        // The same bundle may still be on its way from another peering with that cluster.
        if (!(error instanceof ForeignRoots) || attempt === FOREIGN_ROOTS_ATTEMPTS) throw error;
        await sleep(clock, BACKOFF_MS_MIN, signal);
      }
    }
  }

  async function applyAddresses({ Addresses }: PeeringServerAddresses, signal: AbortSignal): Promise<void> {
    const unusable = Addresses.find((address) => !isServerAddress(address));
    if (unusable !== undefined) {
      throw new ApplyRefused(Code.InvalidArgument, `${unusable} is not a valid peering server address`);
    }
    const addresses = [...new Set(Addresses)].slice(0, ADDRESSES_MAX);
    if (addresses.length === 0)
      throw new ApplyRefused(Code.InvalidArgument, 'no server address: the old ones are kept');
    const current = await writes.current();
    if (current.peer?.addresses.join() === addresses.join()) return;
    await writes.write(recordBytes(current), signal, (tx, row) => {
      const { peer } = row;
      // Manual addresses may belong to a proxy that the peer does not know ([PEER-19]).
      if (peer === undefined || peer.manual || peer.addresses.join() === addresses.join()) return;
      tx.put(peerings, { ...row, peer: { ...peer, addresses } });
    });
  }

  async function applyDigest({ services: named }: ExportDigest, encoded: Uint8Array): Promise<void> {
    // The names appear in responses of the API, so they must be valid.
    checkServiceNames(named.map(({ name }) => name));
    if (named.length > IMPORTED_SERVICES_MAX || named.some(({ hash }) => hash.length > DIGEST_HASH_BYTES_MAX)) {
      const wanted = `want at most ${IMPORTED_SERVICES_MAX} services with hashes of ${DIGEST_HASH_BYTES_MAX} bytes`;
      throw new ApplyRefused(Code.ResourceExhausted, `the digest has ${named.length} services: ${wanted}`);
    }
    await writes.current();
    delivery.recordDigest(encoded);
  }

  /** @throws ApplyRefused also if the state has no room for the resource */
  async function apply(resource: Resource, signal: AbortSignal, encoded: Uint8Array): Promise<void> {
    const { kind } = resource;
    try {
      if (kind === 'list') await services.list(resource.message, signal);
      else if (kind === 'service') {
        await services.service({ name: resource.id, message: resource.message, encoded }, signal);
      } else if (kind === 'roots') await applyRoots(resource.message, signal);
      else if (kind === 'server-addresses') await applyAddresses(resource.message, signal);
      else await applyDigest(resource.message, encoded);
    } catch (error) {
      throw toRefusal(error) ?? error;
    }
  }

  return {
    delivery,
    apply: (resource, _first, signal, encoded) => spans.within(() => apply(resource, signal, encoded)),
    async undecodable({ kind, id }, reason, signal) {
      if (kind === 'service') await services.undecodable(id, reason, signal);
    },
  };
}

/** Returns the roots to trust ([STREAM-69]). @throws ApplyRefused for a bundle that would make every handshake fail */
function usableRoots(pems: readonly string[], nowMs: number): readonly string[] {
  if (pems.length === 0) throw new ApplyRefused(Code.InvalidArgument, 'the trust bundle contains no CA root');
  try {
    return unexpiredRoots(pems, nowMs).map(({ pem }) => pem);
  } catch (error) {
    if (error instanceof RootError) throw new ApplyRefused(Code.InvalidArgument, `the trust bundle: ${error.message}`);
    throw error;
  }
}
