/** The types of resource that travel on a peer stream: one table of their addresses, messages and ids. */
import type { DescMessage } from '@bufbuild/protobuf';
import { type ExportDigest, ExportDigestSchema } from './gen/peering/digest_pb.ts';
import {
  type PeeringServerAddresses,
  PeeringServerAddressesSchema,
  type PeeringTrustBundle,
  PeeringTrustBundleSchema,
} from './gen/peering/peering_pb.ts';
import {
  type ExportedService,
  type ExportedServiceList,
  ExportedServiceListSchema,
  ExportedServiceSchema,
} from './gen/peering/peerstream_pb.ts';

/**
 * A type of resource:
 *
 * - `list`: the names of everything that is exported
 * - `service`: the instances of one service, by its name
 * - `roots`: the trust bundle
 * - `server-addresses`: where the accepting side can be dialed; only the dialing side asks for it
 * - `digest`: only between two clusters of Accord
 */
export type ResourceKind = 'list' | 'service' | 'roots' | 'server-addresses' | 'digest';

/** One resource: `id` is the service's name for `service`, else the fixed one of its kind. */
export interface ResourceKey {
  readonly kind: ResourceKind;
  readonly id: string;
}

/** The message of each kind. */
export interface ResourceMessages {
  readonly list: ExportedServiceList;
  readonly service: ExportedService;
  readonly roots: PeeringTrustBundle;
  readonly 'server-addresses': PeeringServerAddresses;
  readonly digest: ExportDigest;
}

/** A resource with its content; `kind` says which message it is. */
export type Resource = {
  readonly [K in ResourceKind]: { readonly kind: K; readonly id: string; readonly message: ResourceMessages[K] };
}[ResourceKind];

/** A resource whose message is encoded already, once for all who are sent it. */
export interface EncodedResource extends ResourceKey {
  readonly encoded: Uint8Array;
}

interface KindFacts {
  readonly url: string;
  readonly schema: DescMessage;
  /** The only id of the kind; `undefined` where there is one for each service. */
  readonly id: string | undefined;
}

const facts = (schema: DescMessage, id?: string): KindFacts => ({
  url: `type.googleapis.com/${schema.typeName}`,
  schema,
  id,
});

/** What the wire calls each kind. */
export const RESOURCE_KINDS: Readonly<Record<ResourceKind, KindFacts>> = {
  list: facts(ExportedServiceListSchema, 'exported-service-list'),
  service: facts(ExportedServiceSchema),
  roots: facts(PeeringTrustBundleSchema, 'roots'),
  'server-addresses': facts(PeeringServerAddressesSchema, 'server-addrs'),
  digest: facts(ExportDigestSchema, 'digest'),
};

const kindsByUrl = new Map(Object.entries(RESOURCE_KINDS).map(([kind, { url }]) => [url, kind as ResourceKind]));

/** The kind of a URL; `undefined` for one that this version does not know. */
export function kindOfUrl(url: string): ResourceKind | undefined {
  return kindsByUrl.get(url);
}

/** A key as one string, for maps: a kind's name has no slash. */
export function keyText(key: ResourceKey): string {
  return `${key.kind}/${key.id}`;
}
