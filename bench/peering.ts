/** Cluster peering, beside bare Node.js doing the same in the same run. */
import { isActive, peerClusters, startCluster } from '../test/support/peering/clusters.ts';
import { type Server, startServer } from '../test/support/process/server.ts';
import { startBare } from './support/bare.ts';
import { startBareStreams } from './support/bare-streams.ts';
import { measureBlocked } from './support/blocked.ts';
import { compare } from './support/compare.ts';
import { atLeast, atMost, type Figure, information, type Tell } from './support/figures.ts';
import { heldBytes, MEASURABLE } from './support/resident.ts';
import { load } from './support/wrk.ts';

const SECONDS = 3;
const LISTED = 100;
const BLOCKED = 5_000;
/** Between these the memory of one more peering is measured. */
const FEW = 50;
const MANY = 200;

export async function benchPeering(tell: Tell): Promise<void> {
  tell('Peerings over HTTP', await reads());
  tell('Peering tokens, durable', await tokens());
  tell(`Peerings, ${BLOCKED} blocking queries`, await blocking());
  tell(`${MANY} peerings between two clusters`, await streams());
}

const generate = (server: Server, name: string) =>
  server.request('POST', '/v1/peering/token', { body: { PeerName: name, Meta: { team: 'bench' } } });

async function reads(): Promise<Figure[]> {
  await using server = await startServer();
  for (let i = 0; i < LISTED; i++) await generate(server, `peer-${i}`);
  await using bare = await startBare(await server.request('GET', '/v1/peering/peer-7'));
  const headers = { 'X-Service-Token': server.token };
  const at = (url: string) => () => load({ url, headers, atOnce: 64, seconds: SECONDS });
  const [bareRate = 0, one = 0, list = 0] = await compare([
    at(`${bare.address}/`),
    at(`${server.address}/v1/peering/peer-7`),
    at(`${server.address}/v1/peerings`),
  ]);
  return [
    information('bare node:http', bareRate, '/s'),
    information('GET /v1/peering/:name', one, '/s'),
    atLeast('GET /v1/peering/:name beside bare', one / bareRate, 0.8, '×'),
    information(`GET /v1/peerings, ${LISTED} records`, list, '/s'),
    atLeast(`GET /v1/peerings, ${LISTED} records, beside bare with one`, list / bareRate, 0.35, '×'),
  ];
}

async function tokens(): Promise<Figure[]> {
  await using server = await startServer();
  await using bare = await startBare(await generate(server, 'peer'));
  const write = {
    method: 'POST',
    headers: { 'X-Service-Token': server.token },
    body: JSON.stringify({ PeerName: 'peer' }),
    atOnce: 64,
    seconds: SECONDS,
  };
  const [bareRate = 0, rate = 0] = await compare([
    () => load({ ...write, url: `${bare.address}/` }),
    () => load({ ...write, url: `${server.address}/v1/peering/token` }),
  ]);
  return [
    information('bare node:http', bareRate, '/s'),
    atLeast('POST /v1/peering/token, 64 at once', rate, Math.min(12_000, 0.2 * bareRate), '/s'),
    information('POST /v1/peering/token beside bare', rate / bareRate, '×'),
  ];
}

async function blocking(): Promise<Figure[]> {
  const { bareMs, ms, p99Ms } = await measureBlocked({
    count: BLOCKED,
    path: '/v1/peering/peer',
    prepare: (server) => generate(server, 'peer'),
    change: (server, round) =>
      server.request('POST', '/v1/peering/token', { body: { PeerName: 'peer', Meta: { round: String(round) } } }),
  });
  return [
    information(`bare node:http answers ${BLOCKED} held`, bareMs, 'ms'),
    information(`${BLOCKED} blocked readers of one peering answered`, ms, 'ms'),
    atMost('beside bare', ms / bareMs, 2.5, '×'),
    atMost('p99', p99Ms, 200, 'ms'),
  ];
}

async function streams(): Promise<Figure[]> {
  const bare = await bareSlope();
  const settings = { 'peering.heartbeat-interval': '15s', 'peering.heartbeat-timeout': '2m' };
  const environment = { NODE_OPTIONS: MEASURABLE.join(' ') };
  await using accepting = await startCluster({ settings, environment });
  await using dialing = await startCluster({ settings, environment });
  const pids = [accepting, dialing].map(({ server }) => server.process.pid ?? 0);
  const peerUpTo = async (from: number, to: number): Promise<readonly number[]> => {
    for (let i = from; i < to; i++) await peerClusters(accepting, dialing, { to: `to-${i}`, from: `from-${i}` });
    return await heldBytes(pids);
  };
  const few = await peerUpTo(0, FEW);
  const many = await peerUpTo(FEW, MANY);
  const slopes = many.map((bytes, i) => (bytes - (few[i] ?? 0)) / (MANY - FEW));
  const figures = [
    information('memory of each bare stream, serving', bare.serving / 1_000, 'KB'),
    information('memory of each bare stream, calling', bare.calling / 1_000, 'KB'),
    information('memory of each peering, accepting', (slopes[0] ?? 0) / 1_000, 'KB'),
    information('memory of each peering, dialing', (slopes[1] ?? 0) / 1_000, 'KB'),
    atMost('accepting beside bare', (slopes[0] ?? 0) / bare.serving, 2.5, '×'),
    atMost('dialing beside bare', (slopes[1] ?? 0) / bare.calling, 2.5, '×'),
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

async function bareSlope(): Promise<{ readonly serving: number; readonly calling: number }> {
  await using streams = await startBareStreams();
  const pids = [streams.servingPid, streams.callingPid];
  await streams.open(FEW);
  const few = await heldBytes(pids);
  await streams.open(MANY - FEW);
  const many = await heldBytes(pids);
  const [serving = 0, calling = 0] = many.map((bytes, i) => (bytes - (few[i] ?? 0)) / (MANY - FEW));
  return { serving, calling };
}
