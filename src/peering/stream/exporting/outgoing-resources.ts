/** What this cluster sends to a peer: what is exported to it, the roots of this cluster, and where its servers are. */
import { create } from '@bufbuild/protobuf';
import { rowTopic } from '../../../state/watch/change-notifier.ts';
import { peerings } from '../../record/record.ts';
import { bundleFingerprint, recordAcknowledgement, wantsAcknowledgement } from '../../trust/acknowledgement.ts';
import { AUTHORITY_KEY, authorities } from '../../trust/authority.ts';
import type { OutgoingResources, Refusal, Side } from '../contract.ts';
import type { OutgoingInsight } from '../status/delivery-status.ts';
import type { StreamParts } from '../stream-dependencies.ts';
import { PeeringServerAddressesSchema, PeeringTrustBundleSchema } from '../wire/gen/peering/peering_pb.ts';
import { RESOURCE_KINDS, type Resource, type ResourceKey, type ResourceKind } from '../wire/resources.ts';
import { outgoingDigest } from './outgoing-digest.ts';
import { outgoingServices } from './outgoing-services.ts';

/** Whose stream it is. */
export interface StreamOf {
  readonly peeringId: string;
  /** For the log. */
  readonly name: string;
  readonly side: Side;
}

/** What a stream of this peering sends. */
export function outgoingResources(
  { state, clock, identity, addresses, traffic, refusals, exporter, log }: StreamParts,
  { peeringId, name: peering, side }: StreamOf,
): OutgoingResources & OutgoingInsight {
  const kinds: readonly ResourceKind[] = side === 'accepting' ? ['roots', 'server-addresses'] : ['roots'];
  const tooLarge = (key: ResourceKey, bytes: number): void =>
    log.warn({ peering, ...key, bytes }, 'a resource is too large to be sent');
  const row = state.snapshot.get(peerings, peeringId)?.row;
  const peer = row && { partition: row.partition, peerName: row.name };
  const services = outgoingServices({ exporter, peer, tooLarge });
  const digest = outgoingDigest({ index: () => state.snapshot.index, clock, services: services.sent });
  /** What the peer was sent and has not answered, oldest first: it answers one resource in order. */
  const bundlesSent: string[] = [];

  function readRoots(): Resource {
    const roots = identity.roots(state.snapshot);
    bundlesSent.push(bundleFingerprint(roots));
    const message = create(PeeringTrustBundleSchema, { TrustDomain: identity.trustDomain, RootPEMs: [...roots] });
    return { kind: 'roots', id: idOf('roots'), message };
  }

  function rootsAcknowledged(): void {
    const bundle = bundlesSent.shift();
    if (bundle === undefined || !wantsAcknowledgement(state.snapshot, peeringId)) return;
    state
      .write((tx) => recordAcknowledgement(tx, peeringId, bundle))
      .catch((error: unknown) => log.warn({ error, peering }, 'an acknowledgement of the trust bundle was not kept'));
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
      const tell = (kind: ResourceKind) => () => changed({ kind, id: idOf(kind) });
      const serviceChanged = (key: ResourceKey): void => {
        changed(key);
        digest.touch(changed);
      };
      const ends = [
        state.follow([rowTopic(authorities, AUTHORITY_KEY)], tell('roots')),
        services.follow(serviceChanged),
        digest.end,
      ];
      if (side === 'accepting') ends.push(addresses.onChange(tell('server-addresses')));
      return () => {
        for (const end of ends) end();
      };
    },
    tooLarge: (key, bytes) => services.tooLarge(key, bytes),
    acknowledged(key, afterMs) {
      const { kind, id } = key;
      traffic.acknowledged(peeringId, afterMs);
      refusals.taken(peeringId, key);
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
    fate: services.fate,
  };
}

const idOf = (kind: ResourceKind): string => RESOURCE_KINDS[kind].id ?? '';
