/** How a peering is shown. Key order is that of the API's table, additions last; which are there: peering-decisions, "The record". */
import { JsonText } from '../../http/v1/json-answer.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import type { StreamClock, StreamTimes } from '../peering-context.ts';
import type { Peering } from './record.ts';

/** The document of a peering. */
export interface ShownPeering {
  readonly ID: string;
  readonly Name: string;
  /** `INITIAL`, `ACTIVE` or `TERMINATED`; with `compat = consul` one of Consul's. */
  readonly State: string;
  /** In lists. */
  readonly Partition?: string;
  /** Dialing side, as the next two. */
  readonly PeerID?: string;
  readonly PeerServerName?: string;
  readonly PeerServerAddresses?: readonly string[];
  readonly StreamStatus: ShownStream;
  /** When some was given. */
  readonly Meta?: Readonly<Record<string, string>>;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
  /** Until it is deleted here. */
  readonly Remote?: { readonly Partition: string; readonly Datacenter: string };
  readonly DeletedAt?: string;
  readonly Failing?: { readonly Since: string; readonly Reason: string };
}

/** Times are RFC 3339, there once they have a value; null without only for Consul's clients. */
export interface ShownStream {
  /** Null when there are none. */
  readonly ImportedServices: readonly string[] | null;
  readonly ExportedServices: readonly string[];
  readonly LastHeartbeat?: string | null;
  readonly LastReceive?: string | null;
  readonly LastSend?: string | null;
}

/** How it is to be shown. */
export interface ShowOptions {
  readonly times?: StreamTimes | undefined;
  /** `compat = consul`. */
  readonly consul?: boolean;
  /** In a list, with its partition. */
  readonly listed?: boolean;
}

/** Makes the document. */
export function showPeering(
  stored: Stored<Peering>,
  { times, consul = false, listed = false }: ShowOptions,
): ShownPeering {
  const { row, createIndex, modifyIndex } = stored;
  const { peer, meta, remote, deletedAt, failing } = row;
  return {
    ID: row.id,
    Name: row.name,
    State: shownState(row, consul),
    ...(listed && { Partition: row.partition }),
    ...(peer && { PeerID: peer.id, PeerServerName: peer.serverName, PeerServerAddresses: peer.addresses }),
    StreamStatus: {
      ImportedServices: row.imported.length === 0 ? null : row.imported,
      ExportedServices: row.exported,
      ...(consul && { LastHeartbeat: null, LastReceive: null, LastSend: null }),
      ...(times && shownTimes(times)),
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

/** The states that records are shown with. */
export const STATES = ['INITIAL', 'ACTIVE', 'TERMINATED'] as const;
/** Those of Consul, with `compat = consul`. */
export const CONSUL_STATES = ['PENDING', 'ESTABLISHING', 'ACTIVE', 'FAILING', 'DELETING', 'TERMINATED'] as const;

/** The state of a record in the words of the API, or of Consul's. */
export function shownState(
  row: DeepReadonly<Peering>,
  consul: boolean,
): (typeof STATES | typeof CONSUL_STATES)[number] {
  if (!consul || row.state === 'ACTIVE') return row.state;
  if (row.state === 'TERMINATED') return row.deletedAt === undefined ? 'TERMINATED' : 'DELETING';
  if (row.failing !== undefined) return 'FAILING';
  return row.role === 'accepting' ? 'PENDING' : 'ESTABLISHING';
}

function shownTimes({ heartbeatMs, receiveMs, sendMs }: StreamTimes): Partial<ShownStream> {
  return {
    ...(heartbeatMs !== undefined && { LastHeartbeat: timeText(heartbeatMs) }),
    ...(receiveMs !== undefined && { LastReceive: timeText(receiveMs) }),
    ...(sendMs !== undefined && { LastSend: timeText(sendMs) }),
  };
}

const timeText = (ms: number): string => new Date(ms).toISOString();

/** Records as JSON text, each made once for a version of its row and a tick of the streams' times. */
export interface RecordTexts {
  /** As one that is read. */
  read(stored: Stored<Peering>): JsonText;
  /** As an element of a list. */
  listed(stored: Stored<Peering>): string;
}

interface Kept {
  readonly tick: number;
  read?: JsonText;
  listed?: string;
}

/** Texts of the records of one server. */
export function createRecordTexts(streams: StreamClock, consul: boolean): RecordTexts {
  const kept = new WeakMap<Stored<Peering>, Kept>();
  const keptFor = (stored: Stored<Peering>): Kept => {
    const { tick } = streams;
    const found = kept.get(stored);
    if (found?.tick === tick) return found;
    const fresh: Kept = { tick };
    kept.set(stored, fresh);
    return fresh;
  };
  const textOf = (stored: Stored<Peering>, listed: boolean): string =>
    JSON.stringify(showPeering(stored, { times: streams.of(stored.row.id), consul, listed }));
  return {
    read(stored) {
      const texts = keptFor(stored);
      texts.read ??= new JsonText(textOf(stored, false));
      return texts.read;
    },
    listed(stored) {
      const texts = keptFor(stored);
      texts.listed ??= textOf(stored, true);
      return texts.listed;
    },
  };
}
