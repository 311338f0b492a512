/** The resources that a stream sends: exported services, the trust bundle, server addresses, and the export digest. */
import { create } from '@bufbuild/protobuf';
import type { Log } from '../../../http/telemetry/log.ts';
import type { Clock } from '../../../state/clock/clock.ts';
import type { State } from '../../../state/state.ts';
import { rowTopic } from '../../../state/watch/change-notifier.ts';
import type { Exporter } from '../../export/exporter.ts';
import { peerings } from '../../record/record.ts';
import { awaitsAcknowledgment, bundleFingerprint, recordAcknowledgment } from '../../trust/acknowledgment.ts';
import { AUTHORITY_KEY, authorities } from '../../trust/authority.ts';
import type { ServerIdentity } from '../../trust/identity.ts';
import type { OutgoingResources, Refusal, Side } from '../contract.ts';
import type { OutgoingDelivery } from '../status/delivery-status.ts';
import type { RefusalLog } from '../status/refusal-log.ts';
import type { ServerAddresses } from '../status/server-addresses.ts';
import type { StreamTraffic } from '../status/stream-traffic.ts';
import { PeeringServerAddressesSchema, PeeringTrustBundleSchema } from '../wire/gen/peering/peering_pb.ts';
import { RESOURCE_KINDS, type Resource, type ResourceKey, type ResourceKind } from '../wire/resources.ts';
import { outgoingDigest } from './outgoing-digest.ts';
import { outgoingServices } from './outgoing-services.ts';

export interface StreamIdentity {
  readonly peeringId: string;
  readonly name: string;
  readonly side: Side;
}

export interface OutgoingResourcesDependencies {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
  readonly identity: ServerIdentity;
  readonly addresses: ServerAddresses;
  readonly traffic: StreamTraffic;
  readonly refusals: RefusalLog;
  readonly exporter: Exporter;
}

export function outgoingResources(
  { state, clock, identity, addresses, traffic, refusals, exporter, log }: OutgoingResourcesDependencies,
  { peeringId, name: peering, side }: StreamIdentity,
): OutgoingResources & OutgoingDelivery {
  const kinds: readonly ResourceKind[] = side === 'accepting' ? ['roots', 'server-addresses'] : ['roots'];
  const tooLarge = (key: ResourceKey, bytes: number): void =>
    log.warn({ peering, ...key, bytes }, 'resource too large to send');
  const row = state.snapshot.get(peerings, peeringId)?.row;
  const peer = row && { partition: row.partition, peerName: row.name };
  const services = outgoingServices({ exporter, peer, tooLarge });
  const digest = outgoingDigest({ index: () => state.snapshot.index, clock, services: services.sent });
  /** Fingerprints of unanswered bundles, the oldest first. A peer answers the versions of one resource in order. */
  const bundlesSent: string[] = [];

  function readRoots(): Resource {
    const roots = identity.roots(state.snapshot);
    bundlesSent.push(bundleFingerprint(roots));
    const message = create(PeeringTrustBundleSchema, { TrustDomain: identity.trustDomain, RootPEMs: [...roots] });
    return { kind: 'roots', id: idOf('roots'), message };
  }

  function rootsAcknowledged(): void {
    const bundle = bundlesSent.shift();
    if (bundle === undefined || !awaitsAcknowledgment(state.snapshot, peeringId)) return;
    state
      .write((tx) => recordAcknowledgment(tx, peeringId, bundle))
      .catch((error: unknown) => log.warn({ error, peering }, 'trust bundle acknowledgment not recorded'));
  }

  return {
    ids(kind) {
      if (kind === 'list' || kind === 'service') return services.ids(kind);
      if (kind === 'digest') return digest.ids();
      return kinds.includes(kind) ? [idOf(kind)] : [];
    },
    read(key) {
      const { kind, id } = key;
      if (kind === 'list' || kind === 'service') return services.read(key);
      if (kind === 'roots') return readRoots();
      if (kind === 'digest') return digest.read();
      if (kind === 'server-addresses' && side === 'accepting') {
        return { kind, id, message: create(PeeringServerAddressesSchema, { Addresses: [...addresses.current()] }) };
      }
      return undefined;
    },
    follow(changed) {
      const notify = (kind: ResourceKind) => () => changed({ kind, id: idOf(kind) });
      const serviceChanged = (key: ResourceKey): void => {
        changed(key);
        digest.schedule(changed);
      };
      const ends = [
        state.follow([rowTopic(authorities, AUTHORITY_KEY)], notify('roots')),
        services.follow(serviceChanged),
        digest.end,
      ];
      if (side === 'accepting') ends.push(addresses.onChange(notify('server-addresses')));
      return () => {
        for (const end of ends) end();
      };
    },
    tooLarge: (key, bytes) => services.tooLarge(key, bytes),
    acknowledged(key, afterMs) {
      const { kind, id } = key;
      traffic.acknowledged(peeringId, afterMs);
      refusals.acknowledged(peeringId, key);
      if (kind === 'roots') rootsAcknowledged();
      if (kind === 'list') services.listAnswered();
      if (kind === 'service') services.serviceAnswered(id);
    },
    refused(key: ResourceKey, refusal: Refusal) {
      if (key.kind === 'roots') bundlesSent.shift();
      if (key.kind === 'list') services.listAnswered();
      if (key.kind === 'service') services.serviceAnswered(key.id, refusal);
      if (key.kind === 'digest') digest.end();
      refusals.refused({ peeringId, name: peering }, key, refusal);
    },
    deliveryStatus: services.deliveryStatus,
  };
}

const idOf = (kind: ResourceKind): string => RESOURCE_KINDS[kind].id ?? '';
