/** The API JSON of nodes, services, and instances, and the tables printed from it. */
import { table } from './output.ts';

export interface Node {
  readonly Node: string;
  readonly Address: string;
  readonly ID: string;
  readonly Meta: Readonly<Record<string, string>>;
}

export interface Entry {
  readonly Node: Node;
  readonly Service: {
    readonly ID: string;
    readonly Address: string;
    readonly Port: number;
    readonly Tags: readonly string[];
    readonly PeerName?: string;
  };
  readonly Checks: readonly { readonly Name: string; readonly Status: string; readonly Output: string }[];
}

export const tabulateServices = (services: Readonly<Record<string, readonly string[]>>): string =>
  table(
    ['SERVICE', 'TAGS'],
    Object.entries(services).map(([name, tags]) => [name, tags.join(', ')]),
  );

export const tabulateNodes = (nodes: readonly Node[]): string =>
  table(
    ['NODE', 'ADDRESS', 'ID', 'META'],
    nodes.map(({ Node, Address, ID, Meta }) => [
      Node,
      Address,
      ID,
      Object.entries(Meta)
        .map(([key, value]) => `${key}=${value}`)
        .join(', '),
    ]),
  );

/** Shows each instance with its most severe check. */
export const tabulateHealth = (entries: readonly Entry[]): string =>
  table(
    ['STATUS', 'ADDRESS', 'NODE', 'ID', 'TAGS', 'PEER', 'NOTE'],
    entries.map(({ Node, Service, Checks }) => {
      const worst = worstOf(Checks);
      return [
        worst?.Status ?? 'passing',
        addressOf(Service.Address || Node.Address, Service.Port),
        Node.Node,
        Service.ID,
        Service.Tags.join(', '),
        Service.PeerName ?? '',
        worst === undefined || worst.Status === 'passing' ? '' : noteOn(worst),
      ];
    }),
  );

/** Check statuses in ascending severity. */
const STATUSES: readonly string[] = ['passing', 'warning', 'critical', 'maintenance'];

function worstOf(checks: Entry['Checks']): Entry['Checks'][number] | undefined {
  let worst: Entry['Checks'][number] | undefined;
  for (const check of checks) {
    if (worst === undefined || STATUSES.indexOf(check.Status) > STATUSES.indexOf(worst.Status)) worst = check;
  }
  return worst;
}

const noteOn = ({ Name, Output }: Entry['Checks'][number]): string => (Output === '' ? Name : `${Name}: ${Output}`);

const addressOf = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
