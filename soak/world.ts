/** What the soak runs against: three servers on one etcd, one on SQLite, and two peerings between them through proxies. */
import { type EtcdMember, startEtcd } from '../test/support/process/etcd.ts';
import type { Answer } from '../test/support/process/server.ts';
import { type FaultProxy, startProxy } from '../test/support/proxy.ts';
import { until } from '../test/support/until.ts';
import type { Ask, Client } from './client.ts';
import type { ServerName } from './faults.ts';
import type { ClusterName } from './kinds/kind.ts';
import { CONVERGE_MS, LEASE_MS } from './limits.ts';
import { type Seat, startSeat } from './seat.ts';

/** A peering: one cluster has generated its token, the other one dials. */
export interface Link {
  /** What each cluster calls the other one. */
  readonly names: Readonly<Record<ClusterName, string>>;
  readonly accepting: ClusterName;
}

/** Both directions, so that each cluster both dials and is dialed. */
export const LINKS: readonly Link[] = [
  { names: { a: 'b-dials', b: 'a-dialed' }, accepting: 'a' },
  { names: { a: 'b-dialed', b: 'a-dials' }, accepting: 'b' },
];

export interface World extends AsyncDisposable {
  readonly seats: readonly Seat[];
  readonly etcd: EtcdMember;
  /** One for each seat, in their order: every connection between the clusters goes through one of them. */
  readonly proxies: readonly FaultProxy[];
  seat(name: ServerName): Seat;
  of(cluster: ClusterName): readonly Seat[];
}

/** Starts it all; the clusters are peered and export everything to each other. */
export async function startWorld(client: Client, signal: AbortSignal): Promise<World> {
  await using parts = new AsyncDisposableStack();
  const etcd = parts.use(await startEtcd());
  const onEtcd = {
    store: 'etcd',
    'etcd.endpoints': etcd.urls.join(','),
    'etcd.compact': '1m',
    'node.lease': `${LEASE_MS / 1000}s`,
  };
  const a1 = parts.use(await startSeat({ name: 'a1', cluster: 'a', settings: onEtcd }));
  const others = (['a2', 'a3'] as const).map((name) =>
    startSeat({ name, cluster: 'a', settings: onEtcd, token: a1.token }),
  );
  const b = startSeat({ name: 'b1', cluster: 'b', settings: { 'cluster.datacenter': 'dc2' } });
  const started = await Promise.allSettled([...others, b]);
  const seats = [a1, ...started.flatMap((each) => (each.status === 'fulfilled' ? [parts.use(each.value)] : []))];
  for (const each of started) if (each.status === 'rejected') throw each.reason;
  const proxies: FaultProxy[] = [];
  for (const { peeringPort } of seats) proxies.push(parts.use(await startProxy(peeringPort)));

  const of = (cluster: ClusterName): readonly Seat[] => seats.filter((seat) => seat.cluster === cluster);
  const [, , , b1] = seats as [Seat, Seat, Seat, Seat]; // As many were started.
  const first = { a: a1, b: b1 };
  const request = (cluster: ClusterName, ask: Ask): Promise<Answer> => must(client, first[cluster], ask);

  for (const cluster of ['a', 'b'] as const) await request(cluster, exportingAll(cluster));
  for (const { names, accepting } of LINKS) {
    const dialing = accepting === 'a' ? 'b' : 'a';
    const body = { PeerName: names[accepting], ServerExternalAddresses: waysTo({ seats, proxies }, accepting) };
    const made = await request(accepting, { method: 'POST', path: '/v1/peering/token', body });
    const { PeeringToken } = made.json<{ PeeringToken: string }>();
    const presented = { PeerName: names[dialing], PeeringToken };
    await request(dialing, { method: 'POST', path: '/v1/peering/establish', body: presented });
  }
  for (const cluster of ['a', 'b'] as const) {
    for (const { names } of LINKS) {
      const path = `/v1/peering/${names[cluster]}`;
      const isActive = async (): Promise<boolean> => {
        signal.throwIfAborted();
        return (await request(cluster, { method: 'GET', path })).json<{ State: string }>().State === 'ACTIVE';
      };
      await until(`${names[cluster]} is ACTIVE`, isActive, CONVERGE_MS);
    }
  }
  const kept = parts.move();
  return {
    seats,
    etcd: etcd.first,
    proxies,
    seat: (name) => seats.find((seat) => seat.name === name) as Seat, // All were started.
    of,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** The addresses under which the servers of a cluster are dialed: through the proxies. */
export const waysTo = ({ seats, proxies }: Pick<World, 'seats' | 'proxies'>, cluster: ClusterName): readonly string[] =>
  seats.flatMap((seat, at) => (seat.cluster === cluster ? [`127.0.0.1:${proxies[at]?.port}`] : []));

/** An answer of success. @throws Error otherwise */
export async function must(client: Client, seat: Seat, ask: Ask): Promise<Answer> {
  const { outcome, answer, text } = await client.ask(seat, ask, { label: 'preparation' });
  if (outcome !== 'done' || answer === undefined) throw new Error(`${ask.method} ${ask.path} at ${seat.name}: ${text}`);
  return answer;
}

/** Gives every service to the other cluster, over every peering. */
const exportingAll = (cluster: ClusterName): Ask => ({
  method: 'PUT',
  path: '/v1/config',
  body: {
    Kind: 'exported-services',
    Name: 'default',
    Services: [{ Name: '*', Consumers: LINKS.map(({ names }) => ({ Peer: names[cluster] })) }],
  },
});
