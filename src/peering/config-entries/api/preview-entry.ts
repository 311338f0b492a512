/** `POST /v1/config/preview`: what an entry would change, without writing it. */
import { type Static, Type } from 'typebox';
import type { Asked, Credentials } from '../../../credentials/operation.ts';
import { localServiceNames } from '../../catalog/query/local-instances.ts';
import { withBodyPartition } from '../../find/find-peering.ts';
import { type ConfigEntry, ofKind } from '../config-entry.ts';
import type { NamedBody } from '../edit/entry-body.ts';
import { newEntry, warningOf } from '../edit/new-entry.ts';
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
          'Every peer that the entry names, or the one in its place, with the services that it would gain and lose.',
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
      { description: 'The sources whose calls would be decided otherwise; * is whoever no rule names.' },
    ),
  },
  { title: 'EntryPreview' },
);

export interface Preview {
  readonly shown: Readonly<Static<typeof previewSchema>>;
  /** As writing it would warn. */
  readonly warning: string | undefined;
}

/**
 * Takes the grant to write the entry: it tells which services there are.
 * @throws ServiceError `bad-request` | `permission-denied`, StateError `unavailable`
 */
export async function previewEntry(credentials: Credentials, given: Asked, body: NamedBody): Promise<Preview> {
  const { state, edition, policy } = credentials;
  const asked = withBodyPartition(given, body.Partition);
  await state.consistent();
  const { snapshot } = state;
  const wanted = { asked, kind: body.Kind, name: body.Name, access: 'write' } as const;
  const { partition, stored } = findEntry(credentials, snapshot, wanted);
  const entry: ConfigEntry = newEntry(body, partition, { reader: snapshot, edition });
  const peers =
    entry.kind === 'exported-services'
      ? exportedDifference(ofKind(entry.kind, stored), entry, localServiceNames(snapshot, partition))
      : [];
  const sources =
    entry.kind === 'service-intentions'
      ? intentionDifference(snapshot, { before: ofKind(entry.kind, stored), after: entry }, isAllowedByDefault(policy))
      : [];
  const shown = {
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
  return { shown, warning: warningOf(snapshot, entry) };
}
