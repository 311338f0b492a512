/**
 * The record of a peering: its table, the syntax of its names ([PEER-3]), and its state transitions ([PEER-22] to
 * [PEER-31]). The transitions are pure: each returns the next row, or `undefined` when the record must not change.
 */
import { partitionKey, partitions } from '../../credentials/partition.ts';
import { ServiceError } from '../../http/errors.ts';
import { type DeepReadonly, defineTable } from '../../state/table.ts';
import { DNS_NAME_CHARACTERS_MAX } from '../limits.ts';

/** The side of this cluster: it generated the token (`accepting`) or presented it (`dialing`). */
export type Role = 'accepting' | 'dialing';

export type PeeringState = 'INITIAL' | 'ACTIVE' | 'TERMINATED';

/** Why a peering has no stream. */
export interface Failing {
  /** RFC 3339, UTC. */
  readonly since: string;
  readonly reason: string;
  /** Set when only a new token helps, for the connection check. */
  readonly link?: DeadLink;
}

/** The other side rejected the stream secret (`refused`) or does not know the peering (`unknown`). */
export type DeadLink = 'refused' | 'unknown';

/** The current stream: the newest authenticated one. */
export interface CurrentStream {
  /** The server that holds the stream, and that server's incarnation. */
  readonly node: string;
  readonly incarnation: string;
  /** One higher for each new stream of the peering. Writes of a stream with a lower epoch are rejected ([PEER-76]). */
  readonly epoch: number;
}

/** The servers of the other side, as the dialing side knows them. */
export interface PeerServer {
  /** The other side's ID of the peering. */
  readonly id: string;
  /** The name in their certificates. */
  readonly serverName: string;
  /** `host:port`, in the order in which they are dialed. */
  readonly addresses: readonly string[];
  /** Whether the token had manual addresses. Addresses that the peer sends do not replace these ([PEER-19]). */
  readonly manual: boolean;
}

export interface Peering {
  /** UUID, never used again. */
  readonly id: string;
  /** As first given. Names are compared without regard to case. */
  readonly name: string;
  readonly partition: string;
  readonly role: Role;
  readonly state: PeeringState;
  /** Set in INITIAL after a stream was lost or could not be opened. */
  readonly failing?: Failing;
  readonly meta: Readonly<Record<string, string>>;
  /** The other side's partition and datacenter. Empty until it sends them. */
  readonly remote: { readonly partition: string; readonly datacenter: string };
  /** Dialing side only. */
  readonly peer?: PeerServer;
  /** Present exactly in ACTIVE. */
  readonly stream?: CurrentStream;
  /** The highest epoch given to a stream so far. */
  readonly epoch: number;
  /** Names of services, sorted. `imported` is the peer's list. */
  readonly imported: readonly string[];
  readonly exported: readonly string[];
  /** The names in `imported` of services with instances, sorted ([PEER-104]). Absent in rows of earlier versions. */
  readonly found?: readonly string[];
  /** Time of deletion, RFC 3339. A TERMINATED record without it was terminated by the other side. */
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
    // The server of the stream, to find streams whose server is no longer live.
    holder: { entry: ({ stream }) => (stream === undefined ? undefined : holderEntry(stream)) },
    // Records for the removal job.
    terminated: { entry: ({ state }) => (state === 'TERMINATED' ? '' : undefined) },
  },
  countsToward: [{ table: partitions, key: ({ partition }) => partitionKey(partition) }],
});

/** The index entry of a name in a partition, in the form in which names are compared. */
export const nameEntry = (partition: string, name: string): string =>
  `${partitionKey(partition)}/${name.toLowerCase()}`;

/** The index entry of one incarnation of a server. */
export const holderEntry = ({ node, incarnation }: Pick<CurrentStream, 'node' | 'incarnation'>): string =>
  `${node}/${incarnation}`;

type Row = DeepReadonly<Peering>;

export function newPeering(
  fields: Pick<Peering, 'id' | 'name' | 'partition' | 'role' | 'meta'> & { readonly peer?: PeerServer },
): Peering {
  return {
    ...fields,
    state: 'INITIAL',
    remote: { partition: '', datacenter: '' },
    epoch: 0,
    imported: [],
    exported: [],
  };
}

/** Makes an authenticated stream the current one. Returns `undefined` for TERMINATED, which is final. */
export function streamOpened(
  row: Row,
  stream: Omit<CurrentStream, 'epoch'>,
  remote: Peering['remote'] = row.remote,
): (Row & { readonly stream: CurrentStream }) | undefined {
  if (row.state === 'TERMINATED') return undefined;
  const { failing: _resolved, ...rest } = row;
  const epoch = row.epoch + 1;
  return { ...rest, state: 'ACTIVE', remote, epoch, stream: { ...stream, epoch } };
}

/** Removes the stream with this epoch. Returns `undefined` when it is not the current stream. */
export function streamLost(row: Row, epoch: number, failing: Failing): Row | undefined {
  if (row.stream?.epoch !== epoch) return undefined;
  const { stream: _lost, ...rest } = row;
  return { ...rest, state: 'INITIAL', failing };
}

/** Updates the reason after a failed attempt to open a stream. Keeps `since`. Returns `undefined` without a change. */
export function streamOpenFailed(row: Row, failing: Failing): Row | undefined {
  if (row.state !== 'INITIAL') return undefined;
  if (row.failing?.reason === failing.reason && row.failing.link === failing.link) return undefined;
  return { ...row, failing: { ...failing, since: row.failing?.since ?? failing.since } };
}

/** Returns the names of the imported services that can be found, which the API shows ([PEER-104]). */
export const foundServices = ({ found, imported }: Row): readonly string[] => found ?? imported;

/** Estimates the size of a record as JSON, in bytes. */
export function recordBytes({ imported, exported, found = [] }: Row): number {
  let bytes = RECORD_BYTES;
  for (const names of [imported, exported, found]) for (const name of names) bytes += name.length + NAME_QUOTES_BYTES;
  return bytes;
}

/** The estimated size of a record without the names of services. */
const RECORD_BYTES = 1_024;
/** Two quotes and a comma. */
const NAME_QUOTES_BYTES = 3;

/** Marks the record as deleted here. Returns `undefined` when it already was, which keeps the first time. */
export function markDeleted(row: Row, deletedAt: string): Row | undefined {
  return row.deletedAt === undefined ? { ...terminated(row), deletedAt } : undefined;
}

/** Marks the record as deleted by the other side. Returns `undefined` when it is already TERMINATED. */
export function terminatedByPeer(row: Row): Row | undefined {
  return row.state === 'TERMINATED' ? undefined : terminated(row);
}

function terminated(row: Row): Row {
  const { stream: _stream, failing: _failing, ...rest } = row;
  return { ...rest, state: 'TERMINATED', imported: [], exported: [], found: [] };
}

/**
 * Applies a new token of the same cluster to a dialing record ([PEER-62]). ID and epoch remain, so writes of earlier
 * streams are still rejected. A record that the other side terminated returns to INITIAL.
 */
export function reestablished(row: Row, fields: Pick<Row, 'meta' | 'peer' | 'remote'>): Row {
  const { failing: _resolved, ...rest } = row;
  return { ...rest, ...fields, state: row.state === 'TERMINATED' ? 'INITIAL' : row.state };
}

/** Whether the stream with this epoch is the current one, so that its writes are accepted. */
export const isCurrent = (row: Row | undefined, epoch: number): row is Row & { readonly stream: CurrentStream } =>
  row?.stream?.epoch === epoch;

/** A DNS label, because a peer's services are resolved as `<service>.service.<peer>.peer.<domain>`. */
const LABEL = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** @throws ServiceError `bad-request` */
export function checkPeerName(name: string): void {
  if (!LABEL.test(name)) throw invalidName(name, 'alphanumeric');
}

/** Checks a new name. With `consul` it must be in lower case ([PEER-103]). @throws ServiceError `bad-request` */
export function checkNewPeerName(name: string, consul: boolean): void {
  const valid = LABEL.test(name) && !(consul && name !== name.toLowerCase());
  if (!valid) throw invalidName(name, consul ? 'lower case alphanumeric' : 'alphanumeric');
}

function invalidName(name: string, characters: string): ServiceError {
  return new ServiceError(
    'bad-request',
    `${name} is not a valid peer name: a valid peering name must consist of ${characters} characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long`,
  );
}

/** The characters of partition and datacenter names in Accord and Consul. The empty name is valid. */
const REMOTE_NAME = new RegExp(`^[A-Za-z0-9._-]{0,${DNS_NAME_CHARACTERS_MAX}}$`);

export const isRemoteName = (name: string): boolean => REMOTE_NAME.test(name);

/** The accepted syntax, for error messages. */
export const REMOTE_NAME_WANTED = `at most ${DNS_NAME_CHARACTERS_MAX} letters, digits, '.', '-' or '_'`;
