/** What this cluster sends to a peer: what is exported to it, the roots of this cluster, and where its servers are. */
import { create } from '@bufbuild/protobuf';
import { rowTopic } from '../../state/waiting.ts';
import { peerings } from '../record.ts';
import { bundleFingerprint, recordAcknowledgement, wantsAcknowledgement } from '../trust/acknowledgement.ts';
import { AUTHORITY_KEY, authorities } from '../trust/authority.ts';
import type { OutgoingResources, Refusal, Side } from './contract.ts';
import { PeeringServerAddressesSchema, PeeringTrustBundleSchema } from './gen/peering/peering_pb.ts';
import { ExportedServiceListSchema } from './gen/peering/peerstream_pb.ts';
import { RESOURCE_KINDS, type Resource, type ResourceKey, type ResourceKind } from './resources.ts';
import type { StreamParts } from './stream-parts.ts';

/** Whose stream it is. */
export interface StreamOf {
  readonly peeringId: string;
  /** For the log. */
  readonly name: string;
  readonly side: Side;
}

/** What a stream of this peering sends. */
export function outgoingResources(
  { state, identity, addresses, traffic, log }: StreamParts,
  { peeringId, name: peering, side }: StreamOf,
): OutgoingResources {
  const kinds: readonly ResourceKind[] =
    side === 'accepting' ? ['list', 'roots', 'server-addresses'] : ['list', 'roots'];
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
    ids: (kind) => (kinds.includes(kind) ? [idOf(kind)] : []),
    read({ kind, id }): Resource | undefined {
      if (kind === 'roots') return readRoots();
      if (kind === 'list') {
        const names = state.snapshot.get(peerings, peeringId)?.row.exported ?? [];
        return { kind, id, message: create(ExportedServiceListSchema, { Services: [...names] }) };
      }
      if (kind === 'server-addresses' && side === 'accepting') {
        return { kind, id, message: create(PeeringServerAddressesSchema, { Addresses: [...addresses.current()] }) };
      }
      return undefined;
    },
    follow(changed) {
      const tell = (kind: ResourceKind) => () => changed({ kind, id: idOf(kind) });
      const ends = [state.follow([rowTopic(authorities, AUTHORITY_KEY)], tell('roots'))];
      if (side === 'accepting') ends.push(addresses.onChange(tell('server-addresses')));
      return () => {
        for (const end of ends) end();
      };
    },
    tooLarge: (key: ResourceKey, bytes: number) =>
      log.warn({ peering, ...key, bytes }, 'a resource is too large to be sent'),
    acknowledged({ kind }, afterMs) {
      traffic.acknowledged(peeringId, afterMs);
      if (kind === 'roots') rootsAcknowledged();
    },
    refused(key: ResourceKey, refusal: Refusal) {
      if (key.kind === 'roots') bundlesSent.shift();
      log.warn({ peering, ...key, ...refusal }, 'the peer has refused a resource');
    },
  };
}

const idOf = (kind: ResourceKind): string => RESOURCE_KINDS[kind].id ?? '';
