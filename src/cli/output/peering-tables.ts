/** The API JSON of a peering, and the text printed from it. */
import { details, table } from './output.ts';

export interface Peering {
  readonly ID: string;
  readonly Name: string;
  /** INITIAL, ACTIVE, or TERMINATED; a server in Consul compatibility mode uses Consul's states. */
  readonly State: string;
  /** The reason for which the peering has no stream. */
  readonly Failing?: { readonly Since: string; readonly Reason: string };
  readonly Partition?: string;
  readonly PeerID?: string;
  readonly PeerServerName?: string;
  readonly PeerServerAddresses?: readonly string[] | null;
  readonly StreamStatus: {
    readonly ImportedServices: readonly string[] | null;
    readonly ExportedServices: readonly string[] | null;
    readonly LastHeartbeat?: string | null;
    readonly LastReceive?: string | null;
    readonly LastSend?: string | null;
  };
  readonly Meta?: Readonly<Record<string, string>>;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
  readonly Remote?: { readonly Partition: string; readonly Datacenter: string };
  readonly DeletedAt?: string;
}

/** Returns the state to print. A peering with a failing stream is FAILING, which is not a state of the API. */
export const stateOf = ({ State, Failing }: Peering): string => (Failing === undefined ? State : 'FAILING');

export function describePeering(peering: Peering): string {
  const { StreamStatus: stream, Remote: remote, Meta: meta = {} } = peering;
  return details([
    ['Name', peering.Name],
    ['ID', peering.ID],
    ['State', stateOf(peering)],
    ['Reason', reasonOf(peering)],
    ['Since', peering.Failing?.Since],
    ['Partition', peering.Partition],
    ['Peer ID', peering.PeerID],
    ['Peer server name', peering.PeerServerName],
    ['Peer addresses', nonEmpty(peering.PeerServerAddresses?.join(', '))],
    ['Peer datacenter', nonEmpty(remote?.Datacenter)],
    ['Peer partition', nonEmpty(remote?.Partition)],
    ['Imported services', stream.ImportedServices?.join(', ') || 'none'],
    ['Exported services', stream.ExportedServices?.join(', ') || 'none'],
    ['Last heartbeat', stream.LastHeartbeat ?? undefined],
    ['Last received', stream.LastReceive ?? undefined],
    ['Last sent', stream.LastSend ?? undefined],
    ...Object.entries(meta).map(([key, value], i): [string, string] => [i === 0 ? 'Meta' : '', `${key}=${value}`]),
    ['Create index', String(peering.CreateIndex)],
    ['Modify index', String(peering.ModifyIndex)],
  ]);
}

export function tabulatePeerings(peerings: readonly Peering[]): string {
  const rows = peerings.map((peering) => [
    peering.Name,
    peering.Partition ?? '',
    stateOf(peering),
    peering.Remote?.Datacenter ?? '',
    String(peering.StreamStatus.ImportedServices?.length ?? 0),
    String(peering.StreamStatus.ExportedServices?.length ?? 0),
    noteOn(peering),
  ]);
  return table(['NAME', 'PARTITION', 'STATE', 'PEER DATACENTER', 'IMPORTED', 'EXPORTED', 'NOTE'], rows);
}

function noteOn(peering: Peering): string {
  const reason = reasonOf(peering) ?? '';
  return peering.Failing === undefined ? reason : `${reason}, since ${peering.Failing.Since}`;
}

function reasonOf({ State, Failing, DeletedAt }: Peering): string | undefined {
  if (Failing !== undefined) return Failing.Reason;
  if (DeletedAt !== undefined) return `deleted here at ${DeletedAt}`;
  return State === 'TERMINATED' ? 'deleted by the other cluster' : undefined;
}

/** Converts an empty text to `undefined`. Properties that the peer has not sent yet are empty. */
const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
