/** How one rule of an entry is shown, on its own. */
import { type Static, Type } from 'typebox';
import type { Rule } from '../intentions.ts';

export const intentionSchema = Type.Object({
  Description: Type.Optional(Type.String()),
  SourcePeer: Type.Optional(Type.String({ description: 'Absent: the source is of this cluster.' })),
  SourcePartition: Type.Optional(Type.String({ description: 'Absent where it comes from a peer.' })),
  SourceName: Type.String(),
  DestinationPartition: Type.String(),
  DestinationName: Type.String(),
  SourceType: Type.Literal('consul', { description: 'For clients that ask for it.' }),
  Action: Type.Enum(['allow', 'deny']),
  Precedence: Type.Integer({ description: 'Of those that match, the highest decides.' }),
  CreateIndex: Type.Integer({ minimum: 1 }),
  ModifyIndex: Type.Integer({ minimum: 1 }),
});
export type ShownIntention = Readonly<Static<typeof intentionSchema>>;

export function showIntention({ entry, source, precedence, createIndex, modifyIndex }: Rule): ShownIntention {
  return {
    ...(source.description !== '' && { Description: source.description }),
    ...(source.peer === undefined
      ? { SourcePartition: source.partition ?? entry.partition }
      : { SourcePeer: source.peer }),
    SourceName: source.name,
    DestinationPartition: entry.partition,
    DestinationName: entry.name,
    SourceType: 'consul',
    Action: source.action,
    Precedence: precedence,
    CreateIndex: createIndex,
    ModifyIndex: modifyIndex,
  };
}
