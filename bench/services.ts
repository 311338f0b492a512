/** Measures exported services: the first synchronization, one change, reads of imported services, and many peers. */
import { createLog } from '../src/http/telemetry/log.ts';
import { createExporter } from '../src/peering/export/exporter.ts';
import { systemClock } from '../src/state/clock/clock.ts';
import { mustRegister } from '../test/support/peering/catalog-requests.ts';
import { exportOnly, importedFrom, register } from '../test/support/peering/cluster-services.ts';
import { type Cluster, isActive, peerClusters, startCluster } from '../test/support/peering/clusters.ts';
import { exportEntry, mustWrite } from '../test/support/peering/config-entry-requests.ts';
import { startPeer } from '../test/support/peering/test-exporter.ts';
import { startApi } from '../test/support/process/api.ts';
import { startBaseline } from './support/baseline-server.ts';
import {
  atLeast,
  atMost,
  type Figure,
  information,
  median,
  percentile,
  type ReportFigures,
} from './support/figures.ts';
import { measureRatesInterleaved } from './support/interleaved-rates.ts';
import { measureRate } from './support/wrk.ts';

const SECONDS = 3;
const SERVICES = 2_000;
const SERVICES_MANY = 20_000;
const CHANGES = 201;
const PEERS = 100;
const PEER_SERVICES = 1_000;

export async function benchServices(report: ReportFigures): Promise<void> {
  for (const count of [SERVICES, SERVICES_MANY]) {
    report(`${count} services between two clusters`, await synchronization(count));
  }
  report('Services between two clusters', await changesAndReads());
  report(`${PEERS} peers that receive the same ${PEER_SERVICES} services`, await manyPeers());
}

/** The default heartbeats. */
const settings = { 'peering.heartbeat-interval': '15s', 'peering.heartbeat-timeout': '2m' };

/** Measures the time from `establish` until the importing cluster returns the last service. */
async function synchronization(count: number): Promise<Figure[]> {
  await using exporting = await startCluster({ settings });
  await using importing = await startCluster({ settings });
  const names = Array.from({ length: count }, (_, i) => `service-${i}`);
  await forEachInParallel(names, (service) => register(exporting, { service, port: 80, status: 'passing' }));
  await exportOnly(exporting, { '*': ['importing'] });
  const token = await exporting.generate('importing');
  const start = performance.now();
  await importing.establish('exporting', token);
  let readableMs = 0;
  // Services arrive in name order. Polling the last one is cheap, and polling the list would dominate the figure.
  const last = names.toSorted().at(-1);
  for (let readable = 0; readable < count; ) {
    const answer = await importing.request('GET', `/v1/catalog/service/${last}?peer=exporting`);
    if (answer.text.length > 2) {
      readableMs = performance.now() - start;
      readable = Object.keys(await importedFrom(importing, 'exporting')).length;
    }
    await pause(5);
  }
  const seconds = readableMs / 1_000;
  const figures =
    count === SERVICES
      ? [atMost('from establish until all services are readable', seconds, 0.7, 's')]
      : [
          atMost(
            'from establish until all services are readable, linear target',
            seconds,
            (0.7 * count) / SERVICES,
            's',
          ),
        ];
  await importing.untilRecord('exporting', isActive);
  return [...figures, information('services per second', count / seconds, '/s')];
}

async function changesAndReads(): Promise<Figure[]> {
  await using exporting = await startCluster({ settings });
  await using importing = await startCluster({ settings });
  await exportOnly(exporting, { '*': ['importing'] });
  await register(exporting, { service: 'web', port: 1, status: 'passing' });
  await peerClusters(exporting, importing, { to: 'importing', from: 'exporting' });
  while ((await importedFrom(importing, 'exporting'))['web'] !== 1);
  const { local, remote } = await changeLatencies(exporting, importing);
  return [
    information('a change, from its request to a blocking query in the same cluster', local, 'ms'),
    atMost('a change, from its request to a blocking query in the other cluster', remote.p50, 5, 'ms'),
    information('p99', remote.p99, 'ms'),
    ...(await reads(importing)),
  ];
}

const PATH = '/v1/health/service/web';

async function changeLatencies(exporting: Cluster, importing: Cluster) {
  const remote: number[] = [];
  const local: number[] = [];
  let port = 1;
  for (const [cluster, path, times] of [
    [exporting, PATH, local],
    [importing, `${PATH}?peer=exporting`, remote],
  ] as const) {
    for (let i = 0; i < CHANGES; i++) {
      port += 1;
      times.push(await changeLatencyMs(exporting, cluster, path, port));
    }
  }
  return { local: median(local), remote: { p50: median(remote), p99: percentile(remote, 0.99) } };
}

/** Changes the port in `writer` while a blocking query in `reader` waits. @returns the time from change to answer */
async function changeLatencyMs(writer: Cluster, reader: Cluster, path: string, port: number): Promise<number> {
  let before = await reader.request('GET', path);
  while (!before.text.includes(`"Port":${port - 1},`)) before = await reader.request('GET', path);
  const { headers } = before;
  const separator = path.includes('?') ? '&' : '?';
  const waiting = reader.request('GET', `${path}${separator}index=${headers['x-service-index']}&wait=10s`);
  // Time for the query to arrive.
  await pause(10);
  const start = performance.now();
  const changing = register(writer, { service: 'web', port, status: 'passing' });
  const answer = await waiting;
  const ms = performance.now() - start;
  if (!answer.text.includes(`"Port":${port},`)) throw new Error(`the query returned another change: ${answer.text}`);
  await changing;
  return ms;
}

async function reads(importing: Cluster): Promise<Figure[]> {
  const path = `${PATH}?peer=exporting`;
  const { server } = importing;
  await using baseline = await startBaseline(await importing.request('GET', path));
  const headers = { 'X-Service-Token': server.token };
  const at = (url: string) => () => measureRate({ url, headers, connections: 64, seconds: SECONDS });
  const [baselineRate = 0, rate = 0] = await measureRatesInterleaved([
    at(`${baseline.address}/`),
    at(`${server.address}${path}`),
  ]);
  return [
    information('bare node:http', baselineRate, '/s'),
    information('GET /v1/health/service/:name?peer=', rate, '/s'),
    atLeast('GET /v1/health/service/:name?peer=, ratio to bare node:http', rate / baselineRate, 0.7, '×'),
  ];
}

/** Counts serializations in this process. The counts do not depend on the machine. */
async function manyPeers(): Promise<Figure[]> {
  await using api = await startApi();
  await using exporter = createExporter({
    state: api.state,
    clock: systemClock,
    log: createLog({ level: 'error', format: 'json' }),
  });
  const names = Array.from({ length: PEER_SERVICES }, (_, i) => `service-${i}`);
  await forEachInParallel(names, (Service) => mustRegister(api, { Service: { Service, Port: 80 } }));
  const peerNames = Array.from({ length: PEERS }, (_, i) => `peer-${i}`);
  await mustWrite(api, exportEntry({ '*': peerNames }));
  const start = performance.now();
  const peers = peerNames.map((name) => startPeer(exporter, name));
  for (const peer of peers) peer.receiveAll();
  const allMs = performance.now() - start;
  const { encodingCount: first } = exporter;
  await mustRegister(api, { Service: { Service: 'service-7', Port: 81 } });
  const sent = peers.map((peer) => peer.receiveAll().length);
  return [
    atMost('serializations of all services for all peers', first, PEER_SERVICES, ''),
    information('all services sent to all peers', allMs, 'ms'),
    atMost('serializations of one change', exporter.encodingCount - first, 1, ''),
    atLeast('peers that got the change', sent.filter((count) => count === 1).length, PEERS, ''),
  ];
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const PARALLELISM = 64;

async function forEachInParallel<T>(items: readonly T[], action: (item: T) => Promise<void>): Promise<void> {
  const remaining = items.values();
  const work = async (): Promise<void> => {
    for (const item of remaining) await action(item);
  };
  await Promise.all(Array.from({ length: PARALLELISM }, work));
}
