/** The JSON of configuration entries in responses and in the audit log. Keeps the order of the entry's lines. */
import { type Static, Type } from 'typebox';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import type { ConfigEntry, Consumer } from './config-entry.ts';
import { precedenceOf } from './intentions.ts';

const meta = Type.Optional(Type.Record(Type.String(), Type.String()));
const indexes = { CreateIndex: Type.Integer({ minimum: 1 }), ModifyIndex: Type.Integer({ minimum: 1 }) };

const exportedServicesSchema = Type.Object(
  {
    Kind: Type.Literal('exported-services'),
    Name: Type.String({ description: 'The name of the partition.' }),
    Partition: Type.String(),
    Services: Type.Array(
      Type.Object({
        Name: Type.String(),
        Consumers: Type.Array(
          Type.Object({ Peer: Type.Optional(Type.String()), Partition: Type.Optional(Type.String()) }),
        ),
      }),
    ),
    Meta: meta,
    ...indexes,
  },
  { title: 'ExportedServices' },
);

const serviceIntentionsSchema = Type.Object(
  {
    Kind: Type.Literal('service-intentions'),
    Name: Type.String({ description: 'The destination.' }),
    Partition: Type.String(),
    Sources: Type.Array(
      Type.Object({
        Name: Type.String(),
        Peer: Type.Optional(Type.String()),
        Partition: Type.Optional(Type.String()),
        Action: Type.Enum(['allow', 'deny']),
        Precedence: Type.Integer({ description: 'The matching source with the highest precedence decides.' }),
        Type: Type.Literal('consul', { description: 'For clients of Consul.' }),
        Description: Type.Optional(Type.String()),
      }),
    ),
    Meta: meta,
    ...indexes,
  },
  { title: 'ServiceIntentions' },
);

export const entrySchema = Type.Union([exportedServicesSchema, serviceIntentionsSchema]);
export type EntryJson = Readonly<Static<typeof entrySchema>>;

export function entryToJson({ row, createIndex, modifyIndex }: Stored<ConfigEntry>): EntryJson {
  const { name: Name, partition: Partition } = row;
  const rest = {
    ...(Object.keys(row.meta).length > 0 && { Meta: row.meta }),
    CreateIndex: createIndex,
    ModifyIndex: modifyIndex,
  };
  if (row.kind === 'exported-services') {
    const Services = row.services.map(({ name, consumers }) => ({
      Name: name,
      Consumers: consumers.map(consumerToJson),
    }));
    return { Kind: row.kind, Name, Partition, Services, ...rest };
  }
  const Sources = row.sources.map(({ name, peer, partition, action, description }) => ({
    Name: name,
    ...(peer !== undefined && { Peer: peer }),
    ...(partition !== undefined && { Partition: partition }),
    Action: action,
    Precedence: precedenceOf(Name, name),
    Type: 'consul' as const,
    ...(description !== '' && { Description: description }),
  }));
  return { Kind: row.kind, Name, Partition, Sources, ...rest };
}

const consumerToJson = (consumer: DeepReadonly<Consumer>): { Peer: string } | { Partition: string } =>
  'peer' in consumer ? { Peer: consumer.peer } : { Partition: consumer.partition };
