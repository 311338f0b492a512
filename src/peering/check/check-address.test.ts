import assert from 'node:assert/strict';
import { type LookupAddress, promises } from 'node:dns';
import { once } from 'node:events';
import { before, test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { freePort } from '../../../test/support/free-port.ts';
import { until } from '../../../test/support/until.ts';
import { type ExchangeSecretRequest, LeaderAddressSchema } from '../stream/wire/gen/peering/peerstream_pb.ts';
import { ACCORD_TIME_HEADER, ACCORD_VERSION_HEADER } from '../stream/wire/headers.ts';
import { SERVER_LIFE_MS } from '../trust/limits.ts';
import { connectTcp } from './connect-tcp.ts';
import * as peers from './peer.suite.ts';

const { checkOne, peerOf, startHttp2, startPeer, startTcp, startTls, summary } = peers;

let cluster: peers.TestCluster;
let other: peers.TestCluster;
before(async () => {
  [cluster, other] = await Promise.all([peers.makeCluster(), peers.makeCluster()]);
});

const REACHED = ['dns passed', 'tcp passed'];
const SECURED = [...REACHED, 'tls passed', 'server-name passed'];

const refuse = (message = 'invalid peering establishment secret', code = Code.PermissionDenied) => {
  throw new ConnectError(message, code);
};

test('a peer that is as it must be passes every check, and no secret of its is presented', async (t) => {
  const server = await startPeer(t, cluster, async (_request, { responseHeader, requestHeader }) => {
    assert.equal(requestHeader.get(ACCORD_VERSION_HEADER), '1.14.0');
    responseHeader.set(ACCORD_VERSION_HEADER, '1.13.2');
    responseHeader.set(ACCORD_TIME_HEADER, new Date().toISOString());
    return refuse();
  });
  const asked = once(server.met, 'request') as Promise<ExchangeSecretRequest[]>;
  const checks = await checkOne(server.address, peerOf(cluster));
  assert.deepEqual(summary(checks), [...SECURED, 'grpc passed', 'version passed', 'clock passed']);
  assert.deepEqual(
    checks.map(({ Address }) => Address),
    checks.map(() => server.address),
  );
  assert.equal(checks.find(({ ID }) => ID === 'version')?.Detail, 'there 1.13.2, here 1.14.0');
  const [request] = await asked;
  assert.deepEqual([request?.PeerID, request?.EstablishmentSecret], [peers.PEER_ID, peers.UNUSED_SECRET]);
  await until('the connection is closed', async () => (await server.open()) === 0);
});

test('a peer that says nothing of its version and its clock passes what is left', async (t) => {
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

test('a name that DNS does not know, or not now, is told apart', async () => {
  for (const [code, fault] of [
    ['ENOTFOUND', 'dns-not-found'],
    ['EAI_AGAIN', 'dns-unavailable'],
  ] as const) {
    const checks = await checkOne('peer.test:8503', peerOf(cluster), undefined, { resolve: failing(code) });
    assert.deepEqual(summary(checks), [`dns failed ${fault}`]);
    assert.equal(checks[0]?.Detail, `getaddrinfo ${code} peer.test`);
    assert.deepEqual(
      checks.slice(1).map(({ ID, Status }) => `${ID} ${Status}`),
      ['tcp', 'tls', 'server-name', 'grpc', 'version', 'clock'].map((id) => `${id} skipped`),
    );
  }
});

test('a resolver that does not answer is given up when the time is over', async () => {
  const time = new AbortController();
  const resolve = (): Promise<LookupAddress[]> => {
    time.abort();
    return new Promise(() => undefined);
  };
  const checks = await checkOne('peer.test:8503', peerOf(cluster), time.signal, { resolve });
  assert.deepEqual(summary(checks), ['dns failed dns-timed-out']);
});

test('a name is resolved, and every address of it is tried', async (t) => {
  const server = await startPeer(t, cluster, async () => refuse());
  const port = server.address.split(':')[1];
  const closed = { address: '::1', family: 6 };
  const resolve = async (): Promise<LookupAddress[]> => [closed, { address: '127.0.0.1', family: 4 }];
  const checks = await checkOne(`peer.test:${port}`, peerOf(cluster), undefined, { resolve });
  assert.deepEqual(summary(checks), [...SECURED, 'grpc passed']);
  assert.deepEqual([checks[0]?.Detail, checks[1]?.Detail], ['::1, 127.0.0.1', '127.0.0.1']);
});

test('localhost is resolved by the system', async (t) => {
  const server = await startPeer(t, cluster, async () => refuse());
  const known = (await promises.lookup('localhost', { all: true })).map(({ address }) => address);
  const checks = await checkOne(server.address.replace('127.0.0.1', 'localhost'), peerOf(cluster));
  assert.equal(checks[0]?.Detail, known.join(', '));
  assert.equal(checks[1]?.Detail, '127.0.0.1');
});

test('a port where nobody listens is refused', async () => {
  const checks = await checkOne(`127.0.0.1:${await freePort()}`, peerOf(cluster));
  assert.deepEqual(summary(checks), ['dns passed', 'tcp failed tcp-refused']);
  assert.match(checks[1]?.Detail ?? '', /ECONNREFUSED/);
  const ipv6 = await checkOne(`[::1]:${await freePort()}`, peerOf(cluster));
  assert.match(summary(ipv6)[1] ?? '', /^tcp failed tcp-(refused|unreachable)$/);
});

test('an address to which no way leads is unreachable', async () => {
  const checks = await checkOne('255.255.255.255:8503', peerOf(cluster));
  assert.deepEqual(summary(checks), ['dns passed', 'tcp failed tcp-unreachable']);
});

test('an address that does not answer is given up when the time is over', async () => {
  const addresses = [{ address: '127.0.0.1', family: 4 }];
  const { check, value } = await connectTcp(addresses, await freePort(), AbortSignal.abort());
  assert.deepEqual([check.Code, check.Detail, value], ['tcp-timed-out', '127.0.0.1', undefined]);
});

test('what answers in plain text does not speak TLS', async (t) => {
  const server = await startTcp(t, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const checks = await checkOne(server.address, peerOf(cluster));
  assert.deepEqual(summary(checks), [...REACHED, 'tls failed tls-none']);
});

test('what closes the connection at the handshake is told apart from what speaks no TLS', async (t) => {
  for (const close of ['end', 'resetAndDestroy'] as const) {
    const server = await startTcp(t, (socket) => socket[close]());
    assert.deepEqual(summary(await checkOne(server.address, peerOf(cluster))), [...REACHED, 'tls failed tls-closed']);
  }
});

test('a connection that is accepted and then silent is given up when the time is over', async (t) => {
  const server = await startTcp(t, () => undefined);
  const checks = await checkOne(server.address, peerOf(cluster), peers.abortOn(server.met, 'data'));
  assert.deepEqual(summary(checks), [...REACHED, 'tls failed tls-timed-out']);
  await until('the connection is closed', async () => (await server.open()) === 0);
});

test('a certificate of another cluster is not trusted, whatever it names, and nothing is sent to who has it', async (t) => {
  const server = await startHttp2(t, cluster, (stream) => stream.close());
  let requests = 0;
  server.met.on('request', () => {
    requests += 1;
  });
  const checks = await checkOne(server.address, { ...peerOf(cluster), roots: other.roots });
  assert.deepEqual(summary(checks), [...REACHED, 'tls failed tls-not-trusted', 'server-name passed']);
  await until('the connection is closed', async () => (await server.open()) === 0);
  assert.equal(requests, 0);
});

test('a certificate for another name is told with both names', async (t) => {
  const server = await startPeer(t, cluster, async () => refuse());
  const checks = await checkOne(server.address, { ...peerOf(cluster), serverName: other.serverName });
  assert.deepEqual(summary(checks), [...REACHED, 'tls passed', 'server-name failed server-name-wrong']);
  assert.equal(checks[3]?.Detail, `want DNS:${other.serverName}, got DNS:${cluster.serverName}`);
});

test('a certificate that has expired, or is of the future, is told apart', async (t) => {
  for (const [ageMs, fault] of [
    [SERVER_LIFE_MS + peers.HOUR_MS, 'tls-expired'],
    [-48 * peers.HOUR_MS, 'tls-not-yet-valid'],
  ] as const) {
    const made = await peers.makeCluster(ageMs);
    const server = await startPeer(t, made, async () => refuse());
    const checks = await checkOne(server.address, peerOf(made));
    assert.deepEqual(summary(checks), [...REACHED, `tls failed ${fault}`, 'server-name passed']);
  }
});

test('TLS without HTTP/2 is told, whether the server refuses or ignores the question', async (t) => {
  const refusing = await startTls(t, cluster, ['http/1.1']);
  assert.deepEqual(summary(await checkOne(refusing.address, peerOf(cluster))), [...REACHED, 'tls failed tls-no-http2']);
  const ignoring = await startTls(t, cluster, []);
  const checks = await checkOne(ignoring.address, peerOf(cluster));
  assert.deepEqual(summary(checks), [...SECURED, 'grpc failed grpc-failed']);
  assert.match(checks[2]?.Detail ?? '', /nothing said of HTTP\/2/);
});

test('HTTP/2 without gRPC is no peering service, its 403 included', async (t) => {
  for (const answer of [{ ':status': 404 }, { ':status': 403 }, { ':status': 200, 'content-type': 'text/html' }]) {
    const server = await startHttp2(t, cluster, (stream) => {
      stream.respond(answer);
      stream.end('hello');
    });
    const checks = await checkOne(server.address, peerOf(cluster));
    assert.deepEqual(summary(checks), [...SECURED, 'grpc failed grpc-no-peering']);
  }
});

test('gRPC of something else is no peering service', async (t) => {
  const server = await startPeer(t, cluster);
  assert.deepEqual(summary(await checkOne(server.address, peerOf(cluster))), [
    ...[...SECURED, 'grpc failed grpc-no-peering'],
  ]);
});

test('a service that takes any secret is not trusted to be one', async (t) => {
  const server = await startPeer(t, cluster, async () => ({}) as never);
  assert.equal(summary(await checkOne(server.address, peerOf(cluster))).at(-1), 'grpc failed grpc-no-peering');
});

test('a service that does not answer is given up when the time is over', async (t) => {
  const server = await startPeer(t, cluster, () => new Promise(() => undefined));
  const checks = await checkOne(server.address, peerOf(cluster), peers.abortOn(server.met, 'request'));
  assert.deepEqual(summary(checks), [...SECURED, 'grpc failed grpc-timed-out']);
});

test('a connection that breaks under the question is a failure of its own', async (t) => {
  const server = await startHttp2(t, cluster, (stream) => stream.session?.socket.destroy());
  assert.equal(summary(await checkOne(server.address, peerOf(cluster))).at(-1), 'grpc failed grpc-failed');
});

test('a server that names another one is a warning, any other error a failure with its words', async (t) => {
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

test('a version that is too old is told with both, though the service answers', async (t) => {
  const server = await startPeer(t, cluster, async (_request, { responseHeader }) => {
    responseHeader.set(ACCORD_VERSION_HEADER, '1.12.9');
    return refuse();
  });
  const checks = await checkOne(server.address, peerOf(cluster));
  assert.deepEqual(summary(checks), [...SECURED, 'grpc passed', 'version failed version-old']);
  assert.match(checks.find(({ ID }) => ID === 'version')?.Detail ?? '', /1\.12\.9.*1\.14\.0/);
});

test('a clock that is off by minutes is a warning', async (t) => {
  const server = await startPeer(t, cluster, async (_request, { responseHeader }) => {
    responseHeader.set(ACCORD_TIME_HEADER, new Date(Date.now() + 5 * 60_000).toISOString());
    return refuse();
  });
  const checks = await checkOne(server.address, peerOf(cluster));
  assert.equal(summary(checks).at(-1), 'clock warning clock-off');
});
