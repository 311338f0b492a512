import assert from 'node:assert/strict';
import { type LookupAddress, promises } from 'node:dns';
import { once } from 'node:events';
import { before, test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { freePort } from '../../../test/support/free-port.ts';
import { until } from '../../../test/support/until.ts';
import { ADDRESSES_MAX } from '../limits.ts';
import { type ExchangeSecretRequest, LeaderAddressSchema } from '../stream/wire/gen/peering/peerstream_pb.ts';
import { ACCORD_TIME_HEADER, ACCORD_VERSION_HEADER } from '../stream/wire/headers.ts';
import { SERVER_LIFE_MS } from '../trust/limits.ts';
import { checkAddresses } from './check-address.ts';
import { connectTcp } from './connect-tcp.ts';
import * as peers from './peer.suite.ts';
import { reportOf } from './report.ts';

const { checkOne, environment, makeCluster, peerOf, startHttp2, startPeer, startTcp, startTls, summary } = peers;

let cluster: peers.TestCluster;
let other: peers.TestCluster;
before(async () => {
  [cluster, other] = await Promise.all([makeCluster(), makeCluster()]);
});

const REACHED = ['dns passed', 'tcp passed'];
const SECURED = [...REACHED, 'tls passed', 'server-name passed'];

const refuse = (message = 'invalid peering establishment secret', code = Code.PermissionDenied) => {
  throw new ConnectError(message, code);
};

test('a healthy peer passes every check, and its secret is not presented [PEER-94] [PEER-97]', async (t) => {
  const server = await startPeer(t, cluster, async (_request, { responseHeader, requestHeader }) => {
    assert.equal(requestHeader.get(ACCORD_VERSION_HEADER), '1.14.0');
    responseHeader.set(ACCORD_VERSION_HEADER, '1.13.2');
    responseHeader.set(ACCORD_TIME_HEADER, new Date().toISOString());
    return refuse();
  });
  const requested = once(server.events, 'request') as Promise<ExchangeSecretRequest[]>;
  const checks = await checkOne(server.address, peerOf(cluster));
  assert.deepEqual(summary(checks), [...SECURED, 'grpc passed', 'version passed', 'clock passed']);
  assert.deepEqual(
    checks.map(({ Address }) => Address),
    checks.map(() => server.address),
  );
  assert.equal(checks.find(({ ID }) => ID === 'version')?.Detail, '1.13.2 there, 1.14.0 here');
  const [request] = await requested;
  assert.deepEqual([request?.PeerID, request?.EstablishmentSecret], [peers.PEER_ID, peers.UNUSED_SECRET]);
  await until('the connection is closed', async () => (await server.open()) === 0);
});

test('a peer that reports neither version nor clock passes the other checks', async (t) => {
  const server = await startPeer(t, cluster, async () => refuse());
  const checks = await checkOne(server.address, peerOf(cluster));
  assert.deepEqual(summary(checks), [...SECURED, 'grpc passed']);
  assert.deepEqual(
    checks.slice(-2).map(({ ID, Status }) => [ID, Status]),
    [
      ['version', 'skipped'],
      ['clock', 'skipped'],
    ],
  );
});

const failing = (code: string): (() => Promise<never>) => {
  return () => Promise.reject(Object.assign(new Error(`getaddrinfo ${code} peer.test`), { code }));
};

test('distinguishes a missing name from a DNS failure', async () => {
  for (const [code, finding] of [
    ['ENOTFOUND', 'dns-not-found'],
    ['EAI_AGAIN', 'dns-unavailable'],
  ] as const) {
    const checks = await checkOne('peer.test:8503', peerOf(cluster), undefined, { resolve: failing(code) });
    assert.deepEqual(summary(checks), [`dns failed ${finding}`]);
    assert.equal(checks[0]?.Detail, `getaddrinfo ${code} peer.test`);
    assert.deepEqual(
      checks.slice(1).map(({ ID, Status }) => `${ID} ${Status}`),
      ['tcp', 'tls', 'server-name', 'grpc', 'version', 'clock'].map((id) => `${id} skipped`),
    );
  }
});

test('reports dns-timed-out when the resolver does not answer', async () => {
  const time = new AbortController();
  const resolve = (): Promise<LookupAddress[]> => {
    time.abort();
    return new Promise(() => undefined);
  };
  const checks = await checkOne('peer.test:8503', peerOf(cluster), time.signal, { resolve });
  assert.deepEqual(summary(checks), ['dns failed dns-timed-out']);
});

test('resolves a name and tries all its addresses', async (t) => {
  const server = await startPeer(t, cluster, async () => refuse());
  const port = server.address.split(':')[1];
  const closed = { address: '::1', family: 6 };
  const resolve = async (): Promise<LookupAddress[]> => [closed, { address: '127.0.0.1', family: 4 }];
  const checks = await checkOne(`peer.test:${port}`, peerOf(cluster), undefined, { resolve });
  assert.deepEqual(summary(checks), [...SECURED, 'grpc passed']);
  assert.deepEqual([checks[0]?.Detail, checks[1]?.Detail], ['::1, 127.0.0.1', '127.0.0.1']);
});

test('resolves localhost with the system resolver', async (t) => {
  const server = await startPeer(t, cluster, async () => refuse());
  const known = (await promises.lookup('localhost', { all: true })).map(({ address }) => address);
  const checks = await checkOne(server.address.replace('127.0.0.1', 'localhost'), peerOf(cluster));
  assert.equal(checks[0]?.Detail, known.join(', '));
  assert.equal(checks[1]?.Detail, '127.0.0.1');
});

test('reports tcp-refused when no server listens at the port', async () => {
  const checks = await checkOne(`127.0.0.1:${await freePort()}`, peerOf(cluster));
  assert.deepEqual(summary(checks), ['dns passed', 'tcp failed tcp-refused']);
  assert.match(checks[1]?.Detail ?? '', /ECONNREFUSED/);
  const ipv6 = await checkOne(`[::1]:${await freePort()}`, peerOf(cluster));
  assert.match(summary(ipv6)[1] ?? '', /^tcp failed tcp-(refused|unreachable)$/);
});

test('reports tcp-unreachable without a route', async () => {
  const checks = await checkOne('255.255.255.255:8503', peerOf(cluster));
  assert.deepEqual(summary(checks), ['dns passed', 'tcp failed tcp-unreachable']);
});

test('reports tcp-timed-out when the address does not answer', async () => {
  const addresses = [{ address: '127.0.0.1', family: 4 }];
  const { check, value } = await connectTcp(addresses, await freePort(), AbortSignal.abort());
  assert.deepEqual([check.Code, check.Detail, value], ['tcp-timed-out', '127.0.0.1', undefined]);
});

test('reports tls-none for a plain-text server', async (t) => {
  const server = await startTcp(t, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const checks = await checkOne(server.address, peerOf(cluster));
  assert.deepEqual(summary(checks), [...REACHED, 'tls failed tls-none']);
});

test('reports tls-closed when the server closes the connection during the handshake', async (t) => {
  for (const close of ['end', 'resetAndDestroy'] as const) {
    const server = await startTcp(t, (socket) => socket[close]());
    assert.deepEqual(summary(await checkOne(server.address, peerOf(cluster))), [...REACHED, 'tls failed tls-closed']);
  }
});

test('reports tls-timed-out when the server accepts the connection and sends nothing', async (t) => {
  const server = await startTcp(t, () => undefined);
  const checks = await checkOne(server.address, peerOf(cluster), peers.abortOn(server.events, 'data'));
  assert.deepEqual(summary(checks), [...REACHED, 'tls failed tls-timed-out']);
  await until('the connection is closed', async () => (await server.open()) === 0);
});

test('reports tls-not-trusted for the certificate of another cluster, and sends nothing', async (t) => {
  const server = await startHttp2(t, cluster, (stream) => stream.close());
  let requests = 0;
  server.events.on('request', () => {
    requests += 1;
  });
  const checks = await checkOne(server.address, { ...peerOf(cluster), roots: other.roots });
  assert.deepEqual(summary(checks), [...REACHED, 'tls failed tls-not-trusted', 'server-name passed']);
  await until('the connection is closed', async () => (await server.open()) === 0);
  assert.equal(requests, 0);
});

test('reports server-name-wrong with both names', async (t) => {
  const server = await startPeer(t, cluster, async () => refuse());
  const checks = await checkOne(server.address, { ...peerOf(cluster), serverName: other.serverName });
  assert.deepEqual(summary(checks), [...REACHED, 'tls passed', 'server-name failed server-name-wrong']);
  assert.equal(checks[3]?.Detail, `want DNS:${other.serverName}, got DNS:${cluster.serverName}`);
});

test('distinguishes an expired certificate from one that is not valid yet', async (t) => {
  for (const [ageMs, finding] of [
    [SERVER_LIFE_MS + peers.HOUR_MS, 'tls-expired'],
    [-48 * peers.HOUR_MS, 'tls-not-yet-valid'],
  ] as const) {
    const identity = await peers.makeCluster(ageMs);
    const server = await startPeer(t, identity, async () => refuse());
    const checks = await checkOne(server.address, peerOf(identity));
    assert.deepEqual(summary(checks), [...REACHED, `tls failed ${finding}`, 'server-name passed']);
  }
});

test('reports a missing HTTP/2 as tls-no-http2 if the server rejects ALPN, and as grpc-failed if it ignores it', async (t) => {
  const refusing = await startTls(t, cluster, ['http/1.1']);
  assert.deepEqual(summary(await checkOne(refusing.address, peerOf(cluster))), [...REACHED, 'tls failed tls-no-http2']);
  const ignoring = await startTls(t, cluster, []);
  const checks = await checkOne(ignoring.address, peerOf(cluster));
  assert.deepEqual(summary(checks), [...SECURED, 'grpc failed grpc-failed']);
  assert.match(checks[2]?.Detail ?? '', /HTTP\/2 not negotiated/);
});

test('reports grpc-no-peering for HTTP/2 without gRPC, even with status 403', async (t) => {
  for (const answer of [{ ':status': 404 }, { ':status': 403 }, { ':status': 200, 'content-type': 'text/html' }]) {
    const server = await startHttp2(t, cluster, (stream) => {
      stream.respond(answer);
      stream.end('hello');
    });
    const checks = await checkOne(server.address, peerOf(cluster));
    assert.deepEqual(summary(checks), [...SECURED, 'grpc failed grpc-no-peering']);
  }
});

test('reports grpc-no-peering for another gRPC service', async (t) => {
  const server = await startPeer(t, cluster);
  assert.deepEqual(summary(await checkOne(server.address, peerOf(cluster))), [
    ...[...SECURED, 'grpc failed grpc-no-peering'],
  ]);
});

test('reports grpc-no-peering for a service that accepts any secret', async (t) => {
  const server = await startPeer(t, cluster, async () => ({}) as never);
  assert.equal(summary(await checkOne(server.address, peerOf(cluster))).at(-1), 'grpc failed grpc-no-peering');
});

test('reports grpc-timed-out when the service does not answer', async (t) => {
  const server = await startPeer(t, cluster, () => new Promise(() => undefined));
  const checks = await checkOne(server.address, peerOf(cluster), peers.abortOn(server.events, 'request'));
  assert.deepEqual(summary(checks), [...SECURED, 'grpc failed grpc-timed-out']);
});

test('reports grpc-failed when the connection closes during the call', async (t) => {
  const server = await startHttp2(t, cluster, (stream) => stream.session?.socket.destroy());
  assert.equal(summary(await checkOne(server.address, peerOf(cluster))).at(-1), 'grpc failed grpc-failed');
});

test('warns when the server names another one, and reports other errors with their text', async (t) => {
  const details = [{ desc: LeaderAddressSchema, value: { address: '10.0.0.2:8503' } }];
  const leaderless = await startPeer(t, cluster, async () => {
    throw new ConnectError('not the leader', Code.FailedPrecondition, undefined, details);
  });
  const [warning] = (await checkOne(leaderless.address, peerOf(cluster))).filter(({ ID }) => ID === 'grpc');
  assert.deepEqual([warning?.Status, warning?.Code, warning?.Detail], ['warning', 'grpc-elsewhere', '10.0.0.2:8503']);

  const busy = await startPeer(t, cluster, async () => refuse('try later', Code.Unavailable));
  const [failed] = (await checkOne(busy.address, peerOf(cluster))).filter(({ ID }) => ID === 'grpc');
  assert.deepEqual([failed?.Code, failed?.Detail], ['grpc-failed', 'Unavailable: try later']);
});

test('reports version-old with both versions', async (t) => {
  const server = await startPeer(t, cluster, async (_request, { responseHeader }) => {
    responseHeader.set(ACCORD_VERSION_HEADER, '1.12.9');
    return refuse();
  });
  const checks = await checkOne(server.address, peerOf(cluster));
  assert.deepEqual(summary(checks), [...SECURED, 'grpc passed', 'version failed version-old']);
  assert.match(checks.find(({ ID }) => ID === 'version')?.Detail ?? '', /1\.12\.9.*1\.14\.0/);
});

test('warns about a clock that differs by minutes', async (t) => {
  const server = await startPeer(t, cluster, async (_request, { responseHeader }) => {
    responseHeader.set(ACCORD_TIME_HEADER, new Date(Date.now() + 5 * 60_000).toISOString());
    return refuse();
  });
  const checks = await checkOne(server.address, peerOf(cluster));
  assert.equal(summary(checks).at(-1), 'clock warning clock-off');
});

const never = new AbortController().signal;

test('checkAddresses warns about a failing address while another one works [PEER-96]', async (t) => {
  const cluster = await makeCluster();
  const closed = `127.0.0.1:${await freePort()}`;
  const { address } = await startPeer(t, cluster, async () => {
    throw new ConnectError('invalid peering establishment secret', Code.PermissionDenied);
  });
  const tcpOf = async (...addresses: readonly string[]) => {
    const checks = await checkAddresses(environment, addresses, peerOf(cluster), never);
    const tcp = checks.find(({ ID, Address }) => ID === 'tcp' && Address === closed);
    return { healthy: reportOf(checks).Healthy, tcp: `${tcp?.Status} ${tcp?.Code}` };
  };
  assert.deepEqual(await tcpOf(closed, address), { healthy: true, tcp: 'warning tcp-refused' });
  assert.deepEqual(await tcpOf(closed), { healthy: false, tcp: 'failed tcp-refused' });
});

test('checkAddresses keeps the order of addresses and ignores those beyond the limit', async () => {
  const peer = { id: 'x', serverName: 'server.dc1.peering.x.accord', roots: [] };
  const resolve = (host: string): Promise<never> =>
    Promise.reject(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' }));
  const addresses = Array.from({ length: ADDRESSES_MAX + 1 }, (_, i) => `host-${i}.test:8503`);
  const checks = await checkAddresses({ ...environment, resolve }, addresses, peer, never);
  const tried = checks.filter(({ ID }) => ID === 'dns').map(({ Address }) => Address);
  assert.deepEqual(tried, addresses.slice(0, ADDRESSES_MAX));
});
