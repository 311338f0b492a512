/** The JSON form of a peering ([PEER-14], [PEER-15]) and its schema. The key order is part of the API. */
import { type TSchema, Type } from 'typebox';
import { JsonText } from '../../http/v1/json-answer.ts';
import { derivedFromBoth } from '../../state/memory/derived-cache.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import { foundServices, type Peering } from './record.ts';

/** The last activity of a peering's stream, in milliseconds since 1970. Exact on the server that holds the stream. */
export interface StreamTimes {
  readonly heartbeatMs?: number;
  readonly receiveMs?: number;
  readonly sendMs?: number;
}

/** The stream times of all peerings, as known on this server. */
export interface StreamTimesSource {
  of(peeringId: string): StreamTimes | undefined;
  /** Changes when any time changes, at most once a second. Cached results are valid for one tick. */
  readonly tick: number;
}

export interface PeeringJson {
  readonly ID: string;
  readonly Name: string;
  /** One of STATES, or with `compat: consul` one of CONSUL_STATES. */
  readonly State: string;
  /** In lists only. */
  readonly Partition?: string;
  /** Dialing side only, as are the next two. */
  readonly PeerID?: string;
  readonly PeerServerName?: string;
  readonly PeerServerAddresses?: readonly string[];
  readonly StreamStatus: StreamStatusJson;
  /** Absent when empty. */
  readonly Meta?: Readonly<Record<string, string>>;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
  /** Absent once the peering is deleted here. */
  readonly Remote?: { readonly Partition: string; readonly Datacenter: string };
  readonly DeletedAt?: string;
  readonly Failing?: { readonly Since: string; readonly Reason: string };
}

/** Times are RFC 3339. A time without a value is absent, or `null` with `compat: consul` ([PEER-102]). */
export interface StreamStatusJson {
  /** `null` when empty. */
  readonly ImportedServices: readonly string[] | null;
  readonly ExportedServices: readonly string[];
  readonly LastHeartbeat?: string | null;
  readonly LastReceive?: string | null;
  readonly LastSend?: string | null;
}

export interface PeeringJsonOptions {
  readonly times?: StreamTimes | undefined;
  /** `compat: consul`. */
  readonly consul?: boolean;
  readonly listed?: boolean;
}

export function peeringToJson(
  stored: Stored<Peering>,
  { times, consul = false, listed = false }: PeeringJsonOptions,
): PeeringJson {
  const { row, createIndex, modifyIndex } = stored;
  const { peer, meta, remote, deletedAt, failing } = row;
  const found = foundServices(row);
  return {
    ID: row.id,
    Name: row.name,
    State: stateToJson(row, consul),
    ...(listed && { Partition: row.partition }),
    ...(peer && { PeerID: peer.id, PeerServerName: peer.serverName, PeerServerAddresses: peer.addresses }),
    StreamStatus: {
      ImportedServices: found.length === 0 ? null : found,
      ExportedServices: row.exported,
      ...(consul && { LastHeartbeat: null, LastReceive: null, LastSend: null }),
      ...(times && timesToJson(times)),
    },
    ...(Object.keys(meta).length > 0 && { Meta: meta }),
    CreateIndex: createIndex,
    ModifyIndex: modifyIndex,
    ...(deletedAt === undefined
      ? { Remote: { Partition: remote.partition, Datacenter: remote.datacenter } }
      : { DeletedAt: deletedAt }),
    ...(failing && { Failing: { Since: failing.since, Reason: failing.reason } }),
  };
}

export const STATES = ['INITIAL', 'ACTIVE', 'TERMINATED'] as const;
/** The states with `compat: consul` ([PEER-101]). */
export const CONSUL_STATES = ['PENDING', 'ESTABLISHING', 'ACTIVE', 'FAILING', 'DELETING', 'TERMINATED'] as const;

export function stateToJson(
  row: DeepReadonly<Peering>,
  consul: boolean,
): (typeof STATES | typeof CONSUL_STATES)[number] {
  if (!consul || row.state === 'ACTIVE') return row.state;
  if (row.state === 'TERMINATED') return row.deletedAt === undefined ? 'TERMINATED' : 'DELETING';
  if (row.failing !== undefined) return 'FAILING';
  return row.role === 'accepting' ? 'PENDING' : 'ESTABLISHING';
}

function timesToJson({ heartbeatMs, receiveMs, sendMs }: StreamTimes): Partial<StreamStatusJson> {
  return {
    ...(heartbeatMs !== undefined && { LastHeartbeat: formatTime(heartbeatMs) }),
    ...(receiveMs !== undefined && { LastReceive: formatTime(receiveMs) }),
    ...(sendMs !== undefined && { LastSend: formatTime(sendMs) }),
  };
}

const formatTime = (ms: number): string => new Date(ms).toISOString();

/** A cache of records as JSON text, valid for one version of the row and one tick of the stream times. */
export interface RecordJsonCache {
  read(stored: Stored<Peering>): JsonText;
  listed(stored: Stored<Peering>): string;
}

export function createRecordJsonCache(streams: StreamTimesSource, consul: boolean): RecordJsonCache {
  const serialize = (stored: Stored<Peering>, listed: boolean): string =>
    JSON.stringify(peeringToJson(stored, { times: streams.of(stored.row.id), consul, listed }));
  const read = derivedFromBoth((stored: Stored<Peering>, _tick: number) => new JsonText(serialize(stored, false)));
  const listed = derivedFromBoth((stored: Stored<Peering>, _tick: number) => serialize(stored, true));
  return {
    read: (stored) => read(stored, streams.tick),
    listed: (stored) => listed(stored, streams.tick),
  };
}

const time = (description: string): TSchema => Type.String({ format: 'date-time', description });
const uuid = (description: string): TSchema => Type.String({ format: 'uuid', description });

/** @param consul `compat: consul`: Consul's states, and `null` for times without a value */
function properties(consul: boolean): Record<string, TSchema> {
  const streamTime = (description: string): TSchema =>
    consul ? Type.Union([time(description), Type.Null()]) : Type.Optional(time(description));
  return {
    ID: uuid('Generated by the server and never reused.'),
    Name: Type.String({ description: 'As first given. Names are compared without regard to case.' }),
    State: consul ? Type.Enum([...CONSUL_STATES]) : Type.Enum([...STATES]),
    PeerID: Type.Optional(uuid("The other side's ID of the peering. Dialing side only.")),
    PeerServerName: Type.Optional(Type.String()),
    PeerServerAddresses: Type.Optional(Type.Array(Type.String())),
    StreamStatus: Type.Object({
      ImportedServices: Type.Union([Type.Array(Type.String()), Type.Null()]),
      ExportedServices: Type.Array(Type.String()),
      LastHeartbeat: streamTime('When the last heartbeat was received.'),
      LastReceive: streamTime('When the last message of any kind was received.'),
      LastSend: streamTime('When the last message was sent.'),
    }),
    Meta: Type.Optional(Type.Record(Type.String(), Type.String())),
    CreateIndex: Type.Integer({ minimum: 1 }),
    ModifyIndex: Type.Integer({ minimum: 1 }),
    Remote: Type.Optional(
      Type.Object(
        { Partition: Type.String(), Datacenter: Type.String() },
        { description: 'Empty until known. Absent once the peering is deleted here.' },
      ),
    ),
    DeletedAt: Type.Optional(time('When the peering was deleted here.')),
    Failing: Type.Optional(
      Type.Object(
        { Since: time('The first failure.'), Reason: Type.String() },
        { description: 'Why there is no stream, after one was lost or could not be opened.' },
      ),
    ),
  };
}

export const recordSchema = (consul: boolean): TSchema => Type.Object(properties(consul), { title: 'Peering' });

export const recordListSchema = (consul: boolean): TSchema =>
  Type.Array(Type.Object({ ...properties(consul), Partition: Type.String() }, { title: 'ListedPeering' }));
