/** Measures peerings over HTTP and peer streams, and compares them with bare `node:http` and `node:http2`. */
import { isActive, peerClusters, startCluster } from '../test/support/peering/clusters.ts';
import { type Server, startServer } from '../test/support/process/server.ts';
import { startBaseline } from './support/baseline-server.ts';
import { startBaselineStreams } from './support/baseline-streams.ts';
import { measureBlockingQueries } from './support/blocking-queries.ts';
import { atLeast, atMost, type Figure, information, type ReportFigures } from './support/figures.ts';
import { measureRatesInterleaved } from './support/interleaved-rates.ts';
import { GC_ON_SIGNAL_ARGUMENTS, retainedBytes } from './support/resident-memory.ts';
import { measureRate } from './support/wrk.ts';

const SECONDS = 3;
const RECORDS = 100;
const BLOCKING_QUERIES = 5_000;
/** The memory per peering is the growth from FEW to MANY peerings, divided by their number. */
const FEW = 50;
const MANY = 200;

export async function benchPeering(report: ReportFigures): Promise<void> {
  report('Peerings over HTTP', await reads());
  report('Peering tokens, durable', await tokens());
  report(`Peerings, ${BLOCKING_QUERIES} blocking queries`, await blocking());
  report(`${MANY} peerings between two clusters`, await streams());
}

const generate = (server: Server, name: string) =>
  server.request('POST', '/v1/peering/token', { body: { PeerName: name, Meta: { team: 'bench' } } });

async function reads(): Promise<Figure[]> {
  await using server = await startServer();
  for (let i = 0; i < RECORDS; i++) await generate(server, `peer-${i}`);
  await using baseline = await startBaseline(await server.request('GET', '/v1/peering/peer-7'));
  const headers = { 'X-Service-Token': server.token };
  const at = (url: string) => () => measureRate({ url, headers, connections: 64, seconds: SECONDS });
  const [baselineRate = 0, one = 0, list = 0] = await measureRatesInterleaved([
    at(`${baseline.address}/`),
    at(`${server.address}/v1/peering/peer-7`),
    at(`${server.address}/v1/peerings`),
  ]);
  return [
    information('bare node:http', baselineRate, '/s'),
    information('GET /v1/peering/:name', one, '/s'),
    atLeast('GET /v1/peering/:name, ratio to bare node:http', one / baselineRate, 0.8, '×'),
    information(`GET /v1/peerings, ${RECORDS} records`, list, '/s'),
    atLeast(
      `GET /v1/peerings, ${RECORDS} records, ratio to bare node:http with one record`,
      list / baselineRate,
      0.35,
      '×',
    ),
  ];
}

async function tokens(): Promise<Figure[]> {
  await using server = await startServer();
  await using baseline = await startBaseline(await generate(server, 'peer'));
  const write = {
    method: 'POST',
    headers: { 'X-Service-Token': server.token },
    body: JSON.stringify({ PeerName: 'peer' }),
    connections: 64,
    seconds: SECONDS,
  };
  const [baselineRate = 0, rate = 0] = await measureRatesInterleaved([
    () => measureRate({ ...write, url: `${baseline.address}/` }),
    () => measureRate({ ...write, url: `${server.address}/v1/peering/token` }),
  ]);
  return [
    information('bare node:http', baselineRate, '/s'),
    atLeast('POST /v1/peering/token, 64 connections', rate, Math.min(12_000, 0.2 * baselineRate), '/s'),
    information('POST /v1/peering/token, ratio to bare node:http', rate / baselineRate, '×'),
  ];
}

async function blocking(): Promise<Figure[]> {
  const { baselineMs, ms, p99Ms } = await measureBlockingQueries({
    count: BLOCKING_QUERIES,
    path: '/v1/peering/peer',
    prepare: (server) => generate(server, 'peer'),
    change: (server, round) =>
      server.request('POST', '/v1/peering/token', { body: { PeerName: 'peer', Meta: { round: String(round) } } }),
  });
  return [
    information(`bare node:http answers ${BLOCKING_QUERIES} waiting requests`, baselineMs, 'ms'),
    information(`${BLOCKING_QUERIES} blocking queries of one peering answered`, ms, 'ms'),
    atMost('ratio to bare node:http', ms / baselineMs, 2.5, '×'),
    atMost('p99', p99Ms, 200, 'ms'),
  ];
}

async function streams(): Promise<Figure[]> {
  const baseline = await baselineStreamBytes();
  const settings = { 'peering.heartbeat-interval': '15s', 'peering.heartbeat-timeout': '2m' };
  const environment = { NODE_OPTIONS: GC_ON_SIGNAL_ARGUMENTS.join(' ') };
  await using accepting = await startCluster({ settings, environment });
  await using dialing = await startCluster({ settings, environment });
  const pids = [accepting, dialing].map(({ server }) => server.process.pid ?? 0);
  const peerUpTo = async (from: number, to: number): Promise<readonly number[]> => {
    for (let i = from; i < to; i++) await peerClusters(accepting, dialing, { to: `to-${i}`, from: `from-${i}` });
    return await retainedBytes(pids);
  };
  const few = await peerUpTo(0, FEW);
  const many = await peerUpTo(FEW, MANY);
  const bytesEach = many.map((bytes, i) => (bytes - (few[i] ?? 0)) / (MANY - FEW));
  const figures = [
    information('memory per bare stream, server side', baseline.serving / 1_000, 'KB'),
    information('memory per bare stream, client side', baseline.calling / 1_000, 'KB'),
    information('memory per peering, accepting side', (bytesEach[0] ?? 0) / 1_000, 'KB'),
    information('memory per peering, dialing side', (bytesEach[1] ?? 0) / 1_000, 'KB'),
    atMost('accepting side, ratio to a bare stream', (bytesEach[0] ?? 0) / baseline.serving, 2.5, '×'),
    atMost('dialing side, ratio to a bare stream', (bytesEach[1] ?? 0) / baseline.calling, 2.5, '×'),
  ];
  for (const [side, cluster] of Object.entries({ accepting, dialing })) {
    await cluster.kill();
    const start = performance.now();
    await cluster.start();
    for (let i = 0; i < MANY; i++) {
      await accepting.untilRecord(`to-${i}`, isActive, 60_000);
      await dialing.untilRecord(`from-${i}`, isActive, 60_000);
    }
    figures.push(atMost(`all ACTIVE after a restart, ${side} side`, (performance.now() - start) / 1_000, 10, 's'));
  }
  return figures;
}

/** Measures the bytes per bare stream on both sides. */
async function baselineStreamBytes(): Promise<{ readonly serving: number; readonly calling: number }> {
  await using streams = await startBaselineStreams();
  const pids = [streams.servingPid, streams.callingPid];
  await streams.open(FEW);
  const few = await retainedBytes(pids);
  await streams.open(MANY - FEW);
  const many = await retainedBytes(pids);
  const [serving = 0, calling = 0] = many.map((bytes, i) => (bytes - (few[i] ?? 0)) / (MANY - FEW));
  return { serving, calling };
}
