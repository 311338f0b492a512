/** `GET /v1/peering/:name/diff`: what of a peer's services is not here as it is there. */
import { type Static, Type } from 'typebox';
import { type Caller, lacks } from '../../credentials/caller.ts';
import { permits, permitsSome } from '../../credentials/grant.ts';
import { type Asked, locate } from '../../credentials/operation.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { importProblems } from '../catalog/tables/import-problem.ts';
import { importedServiceKey, importedServices } from '../catalog/tables/imported-service.ts';
import { nameKey } from '../config-entries/config-entry.ts';
import { findPeering, peeringNotFound } from '../find/find-peering.ts';
import { checkPeerName } from '../record/peer-name.ts';
import type { Peering } from '../record/record.ts';
import type { IncomingInsight } from '../stream/status/delivery-status.ts';
import { compareService, type Digested, digestOf, noDigestReason } from './compare-digest.ts';
import type { Explaining } from './explain-service.ts';
import { heldStream } from './local-stream.ts';

const differenceSchema = Type.Object({
  Service: Type.String(),
  Difference: Type.Enum(['missing', 'stale', 'extra'], {
    description:
      'missing: there, and not here. stale: here, and something else there by now. extra: here, and not exported there.',
  }),
  Reason: Type.Optional(Type.String({ description: 'Why, where that is known here.' })),
});

export const peeringDiffSchema = Type.Object(
  {
    Peer: Type.String(),
    Comparable: Type.Boolean({ description: 'false: there is nothing to compare with, for the reason.' }),
    Reason: Type.Optional(Type.String()),
    Server: Type.Optional(Type.String({ description: 'The server that can compare, where it is another one.' })),
    Digest: Type.Optional(
      Type.Object(
        {
          Index: Type.Integer({ description: "The peer's index." }),
          Time: Type.String({ format: 'date-time', description: "By the peer's clock." }),
          Received: Type.String({ format: 'date-time' }),
        },
        { description: 'What was compared with: when the peer last told what it has sent.' },
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
  /** Something was left out that the caller may not read. */
  readonly filtered: boolean;
}

/**
 * Needs `peering:read` for the peering; tells about services that the caller may read.
 * @throws ServiceError `bad-request` | `permission-denied` | `not-found` | `unavailable`
 */
export async function diffPeering(
  { credentials, streams }: Explaining,
  asked: Asked,
  name: string,
): Promise<FilteredDiff> {
  checkPeerName(name);
  const { state } = credentials;
  await state.consistent();
  const { snapshot } = state;
  const { caller, partition } = locate(credentials, snapshot, asked);
  const found = findPeering(credentials, snapshot, { asked, name, access: 'read' });
  if (!permitsSome(caller.grants, 'services', 'read', partition)) {
    throw lacks(caller, { resource: 'services', access: 'read' });
  }
  if (found.stored === undefined) throw peeringNotFound(name);
  const { row } = found.stored;
  const stream = heldStream(streams, row);
  const digested = digestOf(stream);
  if (digested === undefined || stream.kind !== 'here') {
    const elsewhere = stream.kind === 'elsewhere' && { Server: stream.server };
    const Reason = noDigestReason(stream);
    return { diff: { Peer: row.name, Comparable: false, Reason, ...elsewhere, Differences: [] }, filtered: false };
  }
  const all = differences(snapshot, row, digested, stream.insight.incoming);
  const visible = all.filter(({ Service }) => mayRead(caller, partition, Service));
  const diff = { Peer: row.name, Comparable: true, Digest: shownDigest(digested), Differences: visible };
  return { diff, filtered: visible.length < all.length };
}

const mayRead = (caller: Caller, partition: string, name: string): boolean =>
  permits(caller.grants, { resource: 'services', access: 'read', partition, name });

function shownDigest({ received: { digest, atMs } }: Digested): NonNullable<PeeringDiff['Digest']> {
  return { Index: Number(digest.index), Time: timeText(digest.clockMs), Received: new Date(atMs).toISOString() };
}

/** What another cluster calls a time need not be one. */
function timeText(ms: bigint): string {
  const time = new Date(Number(ms));
  return (Number.isNaN(time.getTime()) ? new Date(0) : time).toISOString();
}

/** By name. */
function differences(
  reader: Reader,
  { id, imported }: Pick<DeepReadonly<Peering>, 'id' | 'imported'>,
  digested: Digested,
  incoming: IncomingInsight,
): Difference[] {
  const here = reader.list(importedServices, 'peering', id).map(({ row }) => row);
  const kept = new Map(here.map(({ service, contentHash }) => [nameKey(service), contentHash]));
  const listed = new Set(imported.map(nameKey));
  const names = new Map([
    ...here.map(({ service }) => [nameKey(service), service] as const),
    ...[...digested.services].map(([key, { name }]) => [key, name] as const),
  ]);
  return [...names]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, Service]) => {
      const refusal = reader.get(importProblems, importedServiceKey(id, Service))?.row.reason;
      const service = { service: Service, contentHash: kept.get(key), listed: listed.has(key) };
      const comparison = compareService(digested, incoming, service);
      const reason = refusal === undefined ? {} : { Reason: `refused here: ${refusal}` };
      switch (comparison) {
        case undefined:
        case 'same':
        case 'newer':
          return [];
        case 'unsent':
          return [{ Service, Difference: kept.has(key) ? 'stale' : 'missing', Reason: NOT_SENT }];
        default:
          return [{ Service, Difference: comparison, ...reason }];
      }
    });
}

const NOT_SENT = 'the peer has not sent it as it is there: ask there';
