/** The JSON of one rule of a `service-intentions` entry. */
import { type Static, Type } from 'typebox';
import type { Rule } from '../intentions.ts';

export const intentionSchema = Type.Object({
  Description: Type.Optional(Type.String()),
  SourcePeer: Type.Optional(Type.String({ description: 'Absent for a source of this cluster.' })),
  SourcePartition: Type.Optional(Type.String({ description: 'Absent for a source of a peer.' })),
  SourceName: Type.String(),
  DestinationPartition: Type.String(),
  DestinationName: Type.String(),
  SourceType: Type.Literal('consul', { description: 'For clients of Consul.' }),
  Action: Type.Enum(['allow', 'deny']),
  Precedence: Type.Integer({ description: 'The matching intention with the highest precedence decides.' }),
  CreateIndex: Type.Integer({ minimum: 1 }),
  ModifyIndex: Type.Integer({ minimum: 1 }),
});
export type IntentionJson = Readonly<Static<typeof intentionSchema>>;

export function intentionToJson({ entry, source, precedence, createIndex, modifyIndex }: Rule): IntentionJson {
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
