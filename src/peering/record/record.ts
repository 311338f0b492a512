/**
 * The record of a peering: its row, its states, and what may become of it. Pure; every function gives the next row, or
 * `undefined` where nothing may change. Rules: peering-decisions, "States"; state.md, "Streams of peerings, fenced".
 */
import { partitionKey } from '../../credentials/partition.ts';
import { type DeepReadonly, defineTable } from '../../state/table.ts';

/** Which side of the stream this cluster is on: it generated the token, or it was given one. */
export type Role = 'accepting' | 'dialing';

export type PeeringState = 'INITIAL' | 'ACTIVE' | 'TERMINATED';

/** Why a peering that had a stream has none. */
export interface Failing {
  /** RFC 3339, UTC. */
  readonly since: string;
  readonly reason: string;
  /** The link itself is at fault, for the connection check. */
  readonly link?: DeadLink;
}

/** The other side answers, and does not take the secret, or does not know the peering: only a new token helps. */
export type DeadLink = 'refused' | 'unknown';

/** The stream that counts: the newest authenticated one. */
export interface CurrentStream {
  /** The server that holds it, and which of its lives. */
  readonly node: string;
  readonly incarnation: string;
  /** One higher for every stream of the peering: what a stream of a lower one writes is refused. */
  readonly epoch: number;
}

/** What a dialing side knows of the other one. */
export interface PeerServer {
  /** The other side's ID of the peering. */
  readonly id: string;
  /** The name in its certificate. */
  readonly serverName: string;
  /** `host:port`, in the order in which they are tried. */
  readonly addresses: readonly string[];
  /** The addresses were given by hand, with the token: those that the peer pushes do not replace them. */
  readonly manual: boolean;
}

export interface Peering {
  /** UUID, never used again. */
  readonly id: string;
  /** As first given; compared without regard to case. */
  readonly name: string;
  readonly partition: string;
  readonly role: Role;
  readonly state: PeeringState;
  /** Set while it is INITIAL after a stream was lost, or cannot be had. */
  readonly failing?: Failing;
  readonly meta: Readonly<Record<string, string>>;
  /** What the other side says of itself; empty strings until it has. */
  readonly remote: { readonly partition: string; readonly datacenter: string };
  /** Dialing side only. */
  readonly peer?: PeerServer;
  /** Present exactly while it is ACTIVE. */
  readonly stream?: CurrentStream;
  /** The highest epoch given to a stream so far. */
  readonly epoch: number;
  /** Names of services, sorted. */
  readonly imported: readonly string[];
  readonly exported: readonly string[];
  /** When it was deleted here, RFC 3339. A TERMINATED record without was ended by the other side. */
  readonly deletedAt?: string;
}

export const peerings = defineTable<Peering>()({
  name: 'peerings',
  key: (peering) => peering.id,
  formats: { version: 1 },
  indexes: {
    name: { entry: ({ partition, name }) => nameEntry(partition, name), unique: true },
    partition: { entry: ({ partition }) => partitionKey(partition), watched: true },
    role: { entry: ({ role }) => role },
    // Where streams are, to find those whose server is gone.
    holder: { entry: ({ stream }) => (stream === undefined ? undefined : holderEntry(stream)) },
    // What a background job has still to clear away.
    terminated: { entry: ({ state }) => (state === 'TERMINATED' ? '' : undefined) },
  },
});

/** The entry of a name in a partition, in the form in which names are compared. */
export const nameEntry = (partition: string, name: string): string =>
  `${partitionKey(partition)}/${name.toLowerCase()}`;

/** The entry of one life of a server, for the streams that it holds. */
export const holderEntry = ({ node, incarnation }: Pick<CurrentStream, 'node' | 'incarnation'>): string =>
  `${node}/${incarnation}`;

type Row = DeepReadonly<Peering>;

/** A record as it begins. */
export function newPeering(
  given: Pick<Peering, 'id' | 'name' | 'partition' | 'role' | 'meta'> & { readonly peer?: PeerServer },
): Peering {
  return {
    ...given,
    state: 'INITIAL',
    remote: { partition: '', datacenter: '' },
    epoch: 0,
    imported: [],
    exported: [],
  };
}

/** A stream was authenticated: it is the newest, so it counts from now on. Undefined: TERMINATED is final. */
export function streamOpened(
  row: Row,
  stream: Omit<CurrentStream, 'epoch'>,
  remote: Peering['remote'] = row.remote,
): (Row & { readonly stream: CurrentStream }) | undefined {
  if (row.state === 'TERMINATED') return undefined;
  const { failing: _mended, ...kept } = row;
  const epoch = row.epoch + 1;
  return { ...kept, state: 'ACTIVE', remote, epoch, stream: { ...stream, epoch } };
}

/** The stream with this epoch is gone. Undefined: another one counts by now, or none. */
export function streamLost(row: Row, epoch: number, failing: Failing): Row | undefined {
  if (row.stream?.epoch !== epoch) return undefined;
  const { stream: _gone, ...kept } = row;
  return { ...kept, state: 'INITIAL', failing };
}

/** Another attempt to open a stream has failed: says why, keeping since when. Undefined: nothing new to say. */
export function streamRefused(row: Row, failing: Failing): Row | undefined {
  if (row.state !== 'INITIAL') return undefined;
  if (row.failing?.reason === failing.reason && row.failing.link === failing.link) return undefined;
  return { ...row, failing: { ...failing, since: row.failing?.since ?? failing.since } };
}

/** Deleted here, at `deletedAt`. Undefined: it was before, and that time stands. */
export function deletedHere(row: Row, deletedAt: string): Row | undefined {
  return row.deletedAt === undefined ? { ...terminated(row), deletedAt } : undefined;
}

/** The other side has deleted it. Undefined: it is TERMINATED already. */
export function terminatedByPeer(row: Row): Row | undefined {
  return row.state === 'TERMINATED' ? undefined : terminated(row);
}

function terminated(row: Row): Row {
  const { stream: _ended, failing: _over, ...kept } = row;
  return { ...kept, state: 'TERMINATED', imported: [], exported: [] };
}

/**
 * A new token of the same cluster was presented to a dialing record: ID and epoch go on, so that what streams of before
 * still write is refused. One that the other side had terminated begins anew.
 */
export function establishedAgain(row: Row, given: Pick<Row, 'meta' | 'peer' | 'remote'>): Row {
  const { failing: _old, ...kept } = row;
  return { ...kept, ...given, state: row.state === 'TERMINATED' ? 'INITIAL' : row.state };
}

/** Whether a write that comes from the stream with this epoch still counts. */
export const isCurrent = (row: Row | undefined, epoch: number): row is Row & { readonly stream: CurrentStream } =>
  row?.stream?.epoch === epoch;
