/** What a record looks like, for the API description. */
import { type TSchema, Type } from 'typebox';
import { CONSUL_STATES, STATES } from '../record/record-to-json.ts';

const time = (description: string): TSchema => Type.String({ format: 'date-time', description });
const uuid = (description: string): TSchema => Type.String({ format: 'uuid', description });

/** @param consul `compat = consul`: states are Consul's, and times are there without a value */
function properties(consul: boolean): Record<string, TSchema> {
  const streamTime = (description: string): TSchema =>
    consul ? Type.Union([time(description), Type.Null()]) : Type.Optional(time(description));
  return {
    ID: uuid('Made by the server; never used again.'),
    Name: Type.String({ description: 'As first given; compared without regard to case.' }),
    State: consul ? Type.Enum([...CONSUL_STATES]) : Type.Enum([...STATES]),
    PeerID: Type.Optional(uuid("The other side's ID of the peering; where this side dials.")),
    PeerServerName: Type.Optional(Type.String()),
    PeerServerAddresses: Type.Optional(Type.Array(Type.String())),
    StreamStatus: Type.Object({
      ImportedServices: Type.Union([Type.Array(Type.String()), Type.Null()]),
      ExportedServices: Type.Array(Type.String()),
      LastHeartbeat: streamTime('When the last heartbeat came.'),
      LastReceive: streamTime('When the last message of any kind came.'),
      LastSend: streamTime('When the last message was sent.'),
    }),
    Meta: Type.Optional(Type.Record(Type.String(), Type.String())),
    CreateIndex: Type.Integer({ minimum: 1 }),
    ModifyIndex: Type.Integer({ minimum: 1 }),
    Remote: Type.Optional(
      Type.Object(
        { Partition: Type.String(), Datacenter: Type.String() },
        { description: 'Empty until the other side has told; absent once the peering is deleted.' },
      ),
    ),
    DeletedAt: Type.Optional(time('When it was deleted here.')),
    Failing: Type.Optional(
      Type.Object(
        { Since: time('Since when.'), Reason: Type.String() },
        { description: 'Why there is no stream, after it was lost or could not be had.' },
      ),
    ),
  };
}

/** One record, as it is read. */
export const recordSchema = (consul: boolean): TSchema => Type.Object(properties(consul), { title: 'Peering' });

/** A list of records, each with its partition. */
export const recordListSchema = (consul: boolean): TSchema =>
  Type.Array(Type.Object({ ...properties(consul), Partition: Type.String() }, { title: 'ListedPeering' }));
