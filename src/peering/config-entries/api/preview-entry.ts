/** `POST /v1/config/preview`: what an entry would change, without writing it ([SVC-70]). */
import { type Static, Type } from 'typebox';
import type { Credentials, RequestContext } from '../../../credentials/caller.ts';
import { type Call, checkConnected } from '../../../http/call.ts';
import { runInSlices, type Steps } from '../../../state/clock/slices.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import { localServiceNames } from '../../catalog/query/local-instances.ts';
import { withBodyPartition } from '../../find/find-peering.ts';
import { type ConfigEntry, ofKind } from '../config-entry.ts';
import type { NamedBody } from '../edit/entry-body.ts';
import { missingPeersWarning, newEntry } from '../edit/new-entry.ts';
import { exportedDifference } from '../exported-difference.ts';
import { intentionDifference } from '../intention-difference.ts';
import { isAllowedByDefault } from './check-intention.ts';
import { findEntry } from './find-entry.ts';

const action = Type.Enum(['allow', 'deny']);

export const previewSchema = Type.Object(
  {
    Kind: Type.String(),
    Name: Type.String(),
    Partition: Type.String(),
    Peers: Type.Array(
      Type.Object({
        Peer: Type.String(),
        Gains: Type.Array(Type.String()),
        Loses: Type.Array(Type.String()),
      }),
      {
        description:
          'Every peer that the new or the existing entry names, with the services that it would gain and lose.',
      },
    ),
    Sources: Type.Array(
      Type.Object({
        Name: Type.String(),
        Peer: Type.Optional(Type.String()),
        Partition: Type.Optional(Type.String()),
        Before: action,
        After: action,
      }),
      {
        description:
          'The sources whose calls would be decided differently. * means every source without a rule of its own.',
      },
    ),
  },
  { title: 'EntryPreview' },
);

export interface Preview {
  readonly json: Readonly<Static<typeof previewSchema>>;
  /** The warning that writing the entry would return. */
  readonly warning: string | undefined;
}

/**
 * Requires `config:write` on the entry, because the response reveals which services exist.
 * @throws ServiceError `bad-request` | `permission-denied`, StateError `unavailable`
 */
export async function previewEntry(
  credentials: Credentials,
  call: Call,
  given: RequestContext,
  body: NamedBody,
): Promise<Preview> {
  const { state } = credentials;
  const context = withBodyPartition(given, body.Partition);
  await state.consistent();
  const { snapshot } = state;
  const begin = (): Steps<Preview> => computePreview(credentials, snapshot, context, body);
  return await runInSlices({ begin, check: () => checkConnected(call) });
}

function* computePreview(
  credentials: Credentials,
  snapshot: Snapshot,
  context: RequestContext,
  body: NamedBody,
): Steps<Preview> {
  const { edition, policy } = credentials;
  const request = { context, kind: body.Kind, name: body.Name, access: 'write' } as const;
  const { caller, partition, stored } = findEntry(credentials, snapshot, request);
  const entry: ConfigEntry = yield* newEntry(body, partition, { reader: snapshot, edition, caller });
  const peers =
    entry.kind === 'exported-services'
      ? yield* exportedDifference(ofKind(entry.kind, stored), entry, yield* localServiceNames(snapshot, partition))
      : [];
  const sources =
    entry.kind === 'service-intentions'
      ? yield* intentionDifference(
          snapshot,
          { before: ofKind(entry.kind, stored), after: entry },
          isAllowedByDefault(policy),
        )
      : [];
  yield;
  const json = {
    Kind: entry.kind,
    Name: entry.name,
    Partition: partition,
    Peers: peers.map(({ peer, gains, loses }) => ({ Peer: peer, Gains: [...gains], Loses: [...loses] })),
    Sources: sources.map(({ source, sourcePeer, sourcePartition, before, after }) => ({
      Name: source,
      ...(sourcePeer !== undefined && { Peer: sourcePeer }),
      ...(sourcePartition !== undefined && { Partition: sourcePartition }),
      Before: before,
      After: after,
    })),
  };
  return { json, warning: missingPeersWarning(snapshot, caller, entry) };
}
