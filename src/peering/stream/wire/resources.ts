/** The kinds of resource on a peer stream, with their type URLs, messages, and ids. */
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
 * A kind of resource:
 *
 * - `list`: the names of all exported services
 * - `service`: the instances of one exported service
 * - `roots`: the CA roots (trust bundle)
 * - `server-addresses`: the addresses of the accepting side; only the dialing side subscribes to it
 * - `digest`: the export digest, only between two Accord clusters
 */
export type ResourceKind = 'list' | 'service' | 'roots' | 'server-addresses' | 'digest';

/** Identifies a resource. `id` is the service's name for `service`, and fixed for other kinds. */
export interface ResourceKey {
  readonly kind: ResourceKind;
  readonly id: string;
}

export interface ResourceMessages {
  readonly list: ExportedServiceList;
  readonly service: ExportedService;
  readonly roots: PeeringTrustBundle;
  readonly 'server-addresses': PeeringServerAddresses;
  readonly digest: ExportDigest;
}

/** A resource with its content. `kind` determines the type of `message`. */
export type Resource = {
  readonly [K in ResourceKind]: { readonly kind: K; readonly id: string; readonly message: ResourceMessages[K] };
}[ResourceKind];

/** A resource whose message is already encoded, so that all streams share one encoding. */
export interface EncodedResource extends ResourceKey {
  readonly encoded: Uint8Array;
}

interface ResourceKindSpec {
  readonly url: string;
  readonly schema: DescMessage;
  /** The fixed id of the kind. Undefined for `service`. */
  readonly id: string | undefined;
}

const spec = (schema: DescMessage, id?: string): ResourceKindSpec => ({
  url: `type.googleapis.com/${schema.typeName}`,
  schema,
  id,
});

export const RESOURCE_KINDS: Readonly<Record<ResourceKind, ResourceKindSpec>> = {
  list: spec(ExportedServiceListSchema, 'exported-service-list'),
  service: spec(ExportedServiceSchema),
  roots: spec(PeeringTrustBundleSchema, 'roots'),
  'server-addresses': spec(PeeringServerAddressesSchema, 'server-addrs'),
  digest: spec(ExportDigestSchema, 'digest'),
};

const kindsByUrl = new Map(Object.entries(RESOURCE_KINDS).map(([kind, { url }]) => [url, kind as ResourceKind]));

/** Returns the kind of a type URL, or `undefined` if this version does not implement the kind. */
export function kindOfUrl(url: string): ResourceKind | undefined {
  return kindsByUrl.get(url);
}

/** Returns a key as one string, for maps. It is unambiguous, because no kind contains a slash. */
export function keyText(key: ResourceKey): string {
  return `${key.kind}/${key.id}`;
}
