/** The server over HTTP, beside bare `node:http` answering the same bytes in the same run. */
import { startEtcd } from '../test/support/process/etcd.ts';
import { type Server, startServer } from '../test/support/process/server.ts';
import { startBare } from './support/bare.ts';
import { measureBlocked } from './support/blocked.ts';
import { compare } from './support/compare.ts';
import { atLeast, atMost, type Figure, information, percentile, type Tell } from './support/figures.ts';
import { fillTokens } from './support/tokens.ts';
import { load } from './support/wrk.ts';

const SECONDS = 3;
const HELD = 10_000;

const NEW_TOKEN = JSON.stringify({
  Description: 'made by the bench',
  Grants: [{ Resource: 'peering', Access: 'read', Partition: 'default' }],
});

export async function benchHttp(tell: Tell): Promise<void> {
  tell('HTTP on SQLite', await reads());
  tell('HTTP on SQLite, durable writes', await writes({}, 'SQLite', 0.25));
  tell('HTTP on one etcd, durable writes', await writesOnEtcd());
  tell(`HTTP, ${HELD} blocking queries`, await blocking());
  tell('HTTP at 1M rows', await million());
}

const headersOf = (server: Server): Record<string, string> => ({ 'X-Service-Token': server.token });

async function reads(): Promise<Figure[]> {
  await using server = await startServer();
  const answer = await server.request('GET', '/v1/acl/token/self');
  await using bare = await startBare(answer);
  const headers = headersOf(server);
  const [bareRate = 0, rate = 0] = await compare([
    () => load({ url: `${bare.address}/`, headers, atOnce: 64, seconds: SECONDS }),
    () => load({ url: `${server.address}/v1/acl/token/self`, headers, atOnce: 64, seconds: SECONDS }),
  ]);
  return [
    information('bare node:http', bareRate, '/s'),
    information('GET /v1/acl/token/self', rate, '/s'),
    atLeast('GET /v1/acl/token/self beside bare', rate / bareRate, 0.8, '×'),
  ];
}

async function writes(settings: Record<string, string>, store: string, wanted: number): Promise<Figure[]> {
  await using server = await startServer({ settings });
  const [bareRate, rate] = await writeRates(server);
  return [
    information('bare node:http', bareRate, '/s'),
    information(`PUT /v1/acl/token on ${store}, 64 at once`, rate, '/s'),
    atLeast('PUT /v1/acl/token beside bare', rate / bareRate, wanted, '×'),
  ];
}

async function writesOnEtcd(): Promise<Figure[]> {
  await using etcd = await startEtcd({ flags: ['--quota-backend-bytes=8589934592'] });
  await using server = await startServer({ settings: { store: 'etcd', 'etcd.endpoints': etcd.first.url } });
  const [bareRate, rate] = await writeRates(server);
  return [
    information('bare node:http', bareRate, '/s'),
    atLeast('PUT /v1/acl/token on etcd, 64 at once', rate, 8_000, '/s'),
  ];
}

async function writeRates(server: Server): Promise<readonly [bare: number, server: number]> {
  const answer = await server.request('PUT', '/v1/acl/token', { body: NEW_TOKEN });
  if (answer.status !== 200) throw new Error(answer.text);
  await using bare = await startBare(answer);
  const write = { method: 'PUT', headers: headersOf(server), body: NEW_TOKEN, atOnce: 64, seconds: SECONDS };
  const [bareRate = 0, rate = 0] = await compare([
    () => load({ ...write, url: `${bare.address}/` }),
    () => load({ ...write, url: `${server.address}/v1/acl/token` }),
  ]);
  return [bareRate, rate];
}

async function blocking(): Promise<Figure[]> {
  const { bareMs, ms, bytesEach, pingMs } = await measureBlocked({
    count: HELD,
    path: '/v1/partition/default',
    change: (server, round) =>
      server.request('PUT', '/v1/partition/default', { body: { Description: `round ${round}` } }),
  });
  return [
    information('bare node:http answers 10,000 held', bareMs, 'ms'),
    information('10,000 blocked readers answered after a write', ms, 'ms'),
    atMost('beside bare', ms / bareMs, 2.5, '×'),
    atMost('memory of each held query', bytesEach / 1_000, 20, 'KB'),
    atMost('another request meanwhile, p99', percentile(pingMs, 0.99), 20, 'ms'),
  ];
}

async function million(): Promise<Figure[]> {
  await using small = await fillTokens(10_000);
  await using large = await fillTokens(1_000_000);
  await using few = await startServer({ dataDirectory: small.directory });
  await using many = await startServer({ dataDirectory: large.directory });
  const read = (server: Server): (() => Promise<number>) => {
    const url = `${server.address}/v1/acl/token/${small.accessorId}`;
    return () => load({ url, headers: headersOf(server), atOnce: 64, seconds: SECONDS });
  };
  const write = (server: Server): (() => Promise<number>) => {
    const url = `${server.address}/v1/acl/token`;
    return () =>
      load({ url, method: 'PUT', body: NEW_TOKEN, headers: headersOf(server), atOnce: 64, seconds: SECONDS });
  };
  const [fewReads = 0, manyReads = 0] = await compare([read(few), read(many)]);
  const [fewWrites = 0, manyWrites = 0] = await compare([write(few), write(many)]);
  return [
    atLeast('reads at 1M beside 10,000', manyReads / fewReads, 0.75, '×'),
    atLeast('writes at 1M beside 10,000', manyWrites / fewWrites, 0.75, '×'),
    information('reads at 1M', manyReads, '/s'),
    information('writes at 1M', manyWrites, '/s'),
  ];
}
