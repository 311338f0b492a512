/** `GET /v1/peering/:name/diff`: differences between the imported services and the peer's last digest ([SVC-96]). */
import { type Static, Type } from 'typebox';
import { permits, permitsAnyName } from '../../credentials/acl-token.ts';
import { type Caller, permissionDenied, type RequestContext, resolveCaller } from '../../credentials/caller.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { importProblems } from '../catalog/tables/import-problem.ts';
import { importedServiceKey, importedServices } from '../catalog/tables/imported-service.ts';
import { nameKey } from '../config-entries/config-entry.ts';
import { findPeering, peeringNotFound } from '../find/find-peering.ts';
import { checkPeerName, type Peering } from '../record/record.ts';
import type { IncomingDelivery } from '../stream/status/delivery-status.ts';
import { compareService, type IndexedDigest, indexDigest, noDigestReason } from './compare-digest.ts';
import type { ExplainDependencies } from './explain-service.ts';
import { locateStream } from './local-stream.ts';

const differenceSchema = Type.Object({
  Service: Type.String(),
  Difference: Type.Enum(['missing', 'stale', 'extra'], {
    description:
      'missing: exported by the peer but not imported. stale: imported, but the peer has a newer version. extra: imported, but not exported by the peer.',
  }),
  Reason: Type.Optional(Type.String({ description: 'The reason, if this server knows it.' })),
});

export const peeringDiffSchema = Type.Object(
  {
    Peer: Type.String(),
    Comparable: Type.Boolean({
      description: 'Whether this server has a digest to compare with. Otherwise Reason explains why not.',
    }),
    Reason: Type.Optional(Type.String()),
    Server: Type.Optional(Type.String({ description: 'The server that can compare, if it is another one.' })),
    Digest: Type.Optional(
      Type.Object(
        {
          Index: Type.Integer({ description: "The peer's index." }),
          Time: Type.String({ format: 'date-time', description: "By the peer's clock." }),
          Received: Type.String({ format: 'date-time' }),
        },
        { description: 'The digest compared with: the last one that the peer sent.' },
      ),
    ),
    Differences: Type.Array(differenceSchema),
  },
  { title: 'PeeringDiff' },
);
export type PeeringDiff = Static<typeof peeringDiffSchema>;
type Difference = Static<typeof differenceSchema>;

export interface FilteredDiff {
  readonly diff: PeeringDiff;
  /** Whether differences were omitted because the caller may not read the services. */
  readonly filtered: boolean;
}

/**
 * Compares the services that the caller may read. Requires `peering:read` on the peering.
 * @throws ServiceError `bad-request` | `permission-denied` | `not-found` | `unavailable`
 */
export async function diffPeering(
  { credentials, streams }: ExplainDependencies,
  context: RequestContext,
  name: string,
): Promise<FilteredDiff> {
  checkPeerName(name);
  const { state } = credentials;
  await state.consistent();
  const { snapshot } = state;
  const { caller, partition } = resolveCaller(credentials, snapshot, context);
  const found = findPeering(credentials, snapshot, { context, name, access: 'read' });
  if (!permitsAnyName(caller.grants, 'services', 'read', partition)) {
    throw permissionDenied(caller, { resource: 'services', access: 'read' });
  }
  if (found.stored === undefined) throw peeringNotFound(name);
  const { row } = found.stored;
  const stream = locateStream(streams, row);
  const digested = indexDigest(stream);
  if (digested === undefined || stream.kind !== 'here') {
    const elsewhere = stream.kind === 'elsewhere' && { Server: stream.server };
    const Reason = noDigestReason(stream);
    return { diff: { Peer: row.name, Comparable: false, Reason, ...elsewhere, Differences: [] }, filtered: false };
  }
  const all = differences(snapshot, row, digested, stream.insight.incoming);
  const visible = all.filter(({ Service }) => mayRead(caller, partition, Service));
  const diff = { Peer: row.name, Comparable: true, Digest: digestToJson(digested), Differences: visible };
  return { diff, filtered: visible.length < all.length };
}

const mayRead = (caller: Caller, partition: string, name: string): boolean =>
  permits(caller.grants, { resource: 'services', access: 'read', partition, name });

function digestToJson({ received: { digest, atMs } }: IndexedDigest): NonNullable<PeeringDiff['Digest']> {
  return { Index: Number(digest.index), Time: formatTime(digest.clockMs), Received: new Date(atMs).toISOString() };
}

/** Formats a time received from the peer. An invalid one becomes the Unix epoch. */
function formatTime(ms: bigint): string {
  const time = new Date(Number(ms));
  return (Number.isNaN(time.getTime()) ? new Date(0) : time).toISOString();
}

function differences(
  reader: Reader,
  { id, imported }: Pick<DeepReadonly<Peering>, 'id' | 'imported'>,
  digested: IndexedDigest,
  incoming: IncomingDelivery,
): Difference[] {
  const here = reader.list(importedServices, 'peering', id).map(({ row }) => row);
  const localHashes = new Map(here.map(({ service, contentHash }) => [nameKey(service), contentHash]));
  const listed = new Set(imported.map(nameKey));
  const names = new Map([
    ...here.map(({ service }) => [nameKey(service), service] as const),
    ...[...digested.services].map(([key, { name }]) => [key, name] as const),
  ]);
  return [...names]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, Service]) => {
      const refusal = reader.get(importProblems, importedServiceKey(id, Service))?.row.reason;
      const service = { service: Service, contentHash: localHashes.get(key), listed: listed.has(key) };
      const comparison = compareService(digested, incoming, service);
      const reason = refusal === undefined ? {} : { Reason: `rejected here: ${refusal}` };
      switch (comparison) {
        case undefined:
        case 'same':
        case 'newer':
          return [];
        case 'unsent':
          return [{ Service, Difference: localHashes.has(key) ? 'stale' : 'missing', Reason: NOT_SENT }];
        default:
          return [{ Service, Difference: comparison, ...reason }];
      }
    });
}

const NOT_SENT = 'the peer could not send its current version: see the diagnosis there';
