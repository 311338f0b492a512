/** Measures reads, durable writes, and blocking queries over HTTP, and compares them with bare `node:http`. */
import { startEtcd } from '../test/support/process/etcd.ts';
import { type Server, startServer } from '../test/support/process/server.ts';
import { startBaseline } from './support/baseline-server.ts';
import { measureBlockingQueries } from './support/blocking-queries.ts';
import { atLeast, atMost, type Figure, information, percentile, type ReportFigures } from './support/figures.ts';
import { measureRatesInterleaved } from './support/interleaved-rates.ts';
import { createTokenDirectory } from './support/token-directory.ts';
import { measureRate } from './support/wrk.ts';

const SECONDS = 3;
const BLOCKING_QUERIES = 10_000;

const NEW_TOKEN = JSON.stringify({
  Description: 'created by the benchmark',
  Grants: [{ Resource: 'peering', Access: 'read', Partition: 'default' }],
});

export async function benchHttp(report: ReportFigures): Promise<void> {
  report('HTTP on SQLite', await reads());
  report('HTTP on SQLite, durable writes', await writes({}, 'SQLite', 0.25));
  report('HTTP on one etcd, durable writes', await writesOnEtcd());
  report(`HTTP, ${BLOCKING_QUERIES} blocking queries`, await blocking());
  report('HTTP with 1M rows', await largeState());
}

const headersOf = (server: Server): Record<string, string> => ({ 'X-Service-Token': server.token });

async function reads(): Promise<Figure[]> {
  await using server = await startServer();
  const answer = await server.request('GET', '/v1/acl/token/self');
  await using baseline = await startBaseline(answer);
  const headers = headersOf(server);
  const [baselineRate = 0, rate = 0] = await measureRatesInterleaved([
    () => measureRate({ url: `${baseline.address}/`, headers, connections: 64, seconds: SECONDS }),
    () => measureRate({ url: `${server.address}/v1/acl/token/self`, headers, connections: 64, seconds: SECONDS }),
  ]);
  return [
    information('bare node:http', baselineRate, '/s'),
    information('GET /v1/acl/token/self', rate, '/s'),
    atLeast('GET /v1/acl/token/self, ratio to bare node:http', rate / baselineRate, 0.8, '×'),
  ];
}

async function writes(settings: Record<string, string>, store: string, target: number): Promise<Figure[]> {
  await using server = await startServer({ settings });
  const [baselineRate, rate] = await writeRates(server);
  return [
    information('bare node:http', baselineRate, '/s'),
    information(`PUT /v1/acl/token on ${store}, 64 connections`, rate, '/s'),
    atLeast('PUT /v1/acl/token, ratio to bare node:http', rate / baselineRate, target, '×'),
  ];
}

async function writesOnEtcd(): Promise<Figure[]> {
  await using etcd = await startEtcd({ flags: ['--quota-backend-bytes=8589934592'] });
  await using server = await startServer({ settings: { store: 'etcd', 'etcd.endpoints': etcd.first.url } });
  const [baselineRate, rate] = await writeRates(server);
  return [
    information('bare node:http', baselineRate, '/s'),
    atLeast('PUT /v1/acl/token on etcd, 64 connections', rate, 8_000, '/s'),
  ];
}

async function writeRates(server: Server): Promise<readonly [baseline: number, server: number]> {
  const answer = await server.request('PUT', '/v1/acl/token', { body: NEW_TOKEN });
  if (answer.status !== 200) throw new Error(answer.text);
  await using baseline = await startBaseline(answer);
  const write = { method: 'PUT', headers: headersOf(server), body: NEW_TOKEN, connections: 64, seconds: SECONDS };
  const [baselineRate = 0, rate = 0] = await measureRatesInterleaved([
    () => measureRate({ ...write, url: `${baseline.address}/` }),
    () => measureRate({ ...write, url: `${server.address}/v1/acl/token` }),
  ]);
  return [baselineRate, rate];
}

async function blocking(): Promise<Figure[]> {
  const { baselineMs, ms, bytesEach, pingMs } = await measureBlockingQueries({
    count: BLOCKING_QUERIES,
    path: '/v1/partition/default',
    change: (server, round) =>
      server.request('PUT', '/v1/partition/default', { body: { Description: `round ${round}` } }),
  });
  return [
    information('bare node:http answers 10,000 waiting requests', baselineMs, 'ms'),
    information('10,000 blocking queries answered after a write', ms, 'ms'),
    atMost('ratio to bare node:http', ms / baselineMs, 2.5, '×'),
    atMost('memory per blocking query', bytesEach / 1_000, 20, 'KB'),
    atMost('other requests at the same time, p99', percentile(pingMs, 0.99), 20, 'ms'),
  ];
}

async function largeState(): Promise<Figure[]> {
  await using small = await createTokenDirectory(10_000);
  await using large = await createTokenDirectory(1_000_000);
  await using few = await startServer({ dataDirectory: small.directory });
  await using many = await startServer({ dataDirectory: large.directory });
  const read = (server: Server): (() => Promise<number>) => {
    const url = `${server.address}/v1/acl/token/${small.accessorId}`;
    return () => measureRate({ url, headers: headersOf(server), connections: 64, seconds: SECONDS });
  };
  const write = (server: Server): (() => Promise<number>) => {
    const url = `${server.address}/v1/acl/token`;
    return () =>
      measureRate({
        url,
        method: 'PUT',
        body: NEW_TOKEN,
        headers: headersOf(server),
        connections: 64,
        seconds: SECONDS,
      });
  };
  const [fewReads = 0, manyReads = 0] = await measureRatesInterleaved([read(few), read(many)]);
  const [fewWrites = 0, manyWrites = 0] = await measureRatesInterleaved([write(few), write(many)]);
  return [
    atLeast('reads with 1M rows, ratio to 10,000 rows', manyReads / fewReads, 0.75, '×'),
    atLeast('writes with 1M rows, ratio to 10,000 rows', manyWrites / fewWrites, 0.75, '×'),
    information('reads with 1M rows', manyReads, '/s'),
    information('writes with 1M rows', manyWrites, '/s'),
  ];
}
