/** Attacks by a dialing peer, with and without a secret. They must not disturb other peerings. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import {
  BACKOFF_MS_MIN,
  IMPORTED_INSTANCES_MAX,
  IMPORTED_SERVICES_MAX,
  STREAM_OPENS_BURST,
  UNAUTHENTICATED_CONNECTIONS_MAX,
} from '../../src/peering/limits.ts';
import { RESOURCE_KINDS } from '../../src/peering/stream/wire/resources.ts';
import { type Cluster, isActive, isFailing, peerClusters, startCluster } from '../support/peering/clusters.ts';
import { monitorCluster, openHostileStream, resourceResponse } from '../support/peering/hostile-peer.ts';
import { makeIdentity } from '../support/peering/raw-acceptor.ts';
import { dialRaw, exchangeToken } from '../support/peering/raw-peer.ts';
import { until } from '../support/until.ts';

/** Log lines of one stream: its start and its end. */
const STREAM_LOG_LINES = 2;

interface Imported {
  readonly Service: string;
  readonly Instances: number;
  readonly Refused?: { readonly Reason: string };
}

const importsOf = async (cluster: Cluster, peer: string): Promise<readonly Imported[]> =>
  (await cluster.request('GET', `/v1/peering/${peer}/imported-services`)).json<readonly Imported[]>();

describe('a hostile dialing peer', { timeout: 120_000 }, () => {
  let victim: Cluster;
  let friend: Cluster;
  before(async () => {
    // Within the handshake timeout, a busy machine must accept more connections than the limit.
    const settings = { 'limits.stream-handshake': '6s', 'peering.heartbeat-timeout': '10s' };
    [victim, friend] = await Promise.all([
      startCluster({ settings: { ...settings, 'log.level': 'info' } }),
      startCluster({ settings: { ...settings, 'cluster.datacenter': 'dc2' } }),
    ]);
    await peerClusters(victim, friend, { to: 'friend', from: 'victim' });
  });
  after(() => Promise.all([victim, friend].map((cluster) => cluster?.[Symbol.asyncDispose]())));

  it('is disconnected after too many protocol errors [STREAM-42] [STREAM-45]', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    using peer = await openHostileStream(victim, 'unknown-urls');
    const unknown = { typeUrl: 'type.googleapis.com/no.such.Thing', value: new Uint8Array(3) };
    const bad = { Nonce: 'a', ResourceURL: unknown.typeUrl, ResourceID: 'x', Resource: unknown, operation: 1 };
    const { Error: refusal } = await peer.sendAndAwaitAnswer({ response: bad }, 'a');
    assert.match(refusal?.message ?? '', /^unknown resource type "type\.googleapis\.com\/no\.such\.Thing"$/);
    peer.call.send({ request: { ResourceURL: unknown.typeUrl } }, { request: { ResourceURL: 'x'.repeat(100_000) } });
    peer.call.send({ response: { ...bad, Nonce: '' } }, { response: { ...bad, Nonce: 'n'.repeat(1024 * 1024) } }, {});
    const { Error: none } = await peer.sendAndAwaitAnswer(
      resourceResponse('list', 'exported-service-list', { Services: [] }, 'b'),
      'b',
    );
    assert.equal(none, undefined, 'the stream is still open');
    for (let i = 0; i < 10_000; i += 1) {
      peer.call.send({ request: { ResourceURL: RESOURCE_KINDS.list.url, ResponseNonce: String(i) } });
    }
    const { code, message } = await peer.call.responseEnded;
    assert.equal(code, Code.ResourceExhausted);
    assert.match(message, /^limit protocol-errors: /);
    await check(STREAM_LOG_LINES);
  });

  it('gets a NACK for invalid services, CA roots and addresses [STREAM-65] [STREAM-69] [STREAM-72] [STREAM-98] [STREAM-101]', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    using peer = await openHostileStream(victim, 'contents');
    const expired = await makeIdentity(undefined, Date.now() - 20 * 365 * 24 * 3_600_000);
    const own = await makeIdentity();
    const instance = { Node: { Node: 'n' }, Service: { Service: 'twice' } };
    const named = (name: string, fields: object = {}) =>
      resourceResponse('service', name, { Nodes: [{ Node: { Node: 'n' }, Service: { Service: name, ...fields } }] });
    const bundle = (TrustDomain: string, ...RootPEMs: string[]) =>
      resourceResponse('roots', 'roots', { TrustDomain, RootPEMs });
    const million = Array.from({ length: 1_000_000 }, (_, i) => i.toString(36));
    const contents: readonly (readonly [
      content: string,
      message: ReturnType<typeof resourceResponse>,
      refusal: RegExp | undefined,
    ])[] = [
      [
        'a million names',
        resourceResponse('list', 'l', { Services: million }),
        /^the list names 1000000 services in \d+ charac/,
      ],
      [
        'a name of 10 kB in the list',
        resourceResponse('list', 'l', { Services: ['x'.repeat(10_240)] }),
        /is not a service name/,
      ],
      ['a service without a name', resourceResponse('service', '', { Nodes: [instance] }, 'x'), /no resource id/],
      [
        'a name with NUL',
        resourceResponse('service', 'a\0b', { Nodes: [instance] }),
        /^"a\\u0000b" is not a service name/,
      ],
      [
        'a name of 10 kB',
        resourceResponse('service', 'x'.repeat(10_240), { Nodes: [instance] }),
        /is not a service name/,
      ],
      ['a name that looks like a path', named('..'), undefined],
      ['an emoji as a name', named('😀'), undefined],
      ['a reserved name', named('consul'), /^service "consul" is not imported: /],
      ['a port above 65535', named('port', { Port: 65_536 }), /^the port of an instance of service "port" is "65536"/],
      [
        'an instance of another service',
        resourceResponse('service', 'other', { Nodes: [instance] }),
        /^service "other" has an instance of the service "twice"$/,
      ],
      [
        'a digest with long hashes',
        resourceResponse('digest', 'd', { services: [{ name: 'web', hash: Buffer.alloc(65) }] }),
        /^the digest has 1 services: want at most/,
      ],
      ['a node twice', resourceResponse('service', 'twice', { Nodes: [instance, instance] }), undefined],
      [
        'four million nodes',
        resourceResponse('service', 'many', Buffer.alloc(8_000_000, Buffer.from([0x0a, 0]))),
        /parts$/,
      ],
      [
        'an instance without a node',
        resourceResponse('service', 'none', { Nodes: [{}] }),
        /without a node or a service/,
      ],
      ['garbage', resourceResponse('service', 'garbage', Buffer.alloc(100, 0xff)), /cannot be decoded/],
      ['no roots', bundle(own.trustDomain), /contains no CA root/],
      ['invalid roots', bundle(own.trustDomain, 'root'), /is not one certificate in PEM/],
      ['expired roots', bundle(own.trustDomain, expired.root), /expired at/],
      ['a thousand roots', bundle(own.trustDomain, ...Array<string>(1_000).fill(own.root)), /want at most 16/],
      ['no trust domain', bundle('', own.root), /is not a trust domain/],
      ['a trust domain of 1 MB', bundle('x'.repeat(1024 * 1024), own.root), /is not a trust domain/],
      ['its own roots', bundle(own.trustDomain, own.root), undefined],
      [
        'another trust domain than before',
        bundle('friend.accord', own.root),
        /^the trust bundle is of "friend.accord": /,
      ],
      [
        'invalid addresses',
        resourceResponse('server-addresses', 'a', { Addresses: ['file:///etc/passwd'] }),
        /is not a valid/,
      ],
    ];
    for (const [i, [content, message, refusal]] of contents.entries()) {
      const nonce = `n${i}`;
      const { Error: error } = await peer.sendAndAwaitAnswer(
        { response: { ...message.response, Nonce: nonce } },
        nonce,
      );
      if (refusal === undefined) assert.equal(error, undefined, content);
      else assert.match(error?.message ?? '', refusal, content);
      assert.ok((error?.message.length ?? 0) <= 1_024, content);
    }
    assert.ok(IMPORTED_SERVICES_MAX < million.length);
    const rejected = (await importsOf(victim, 'contents')).filter(({ Refused }) => Refused !== undefined);
    assert.deepEqual(
      rejected.map(({ Service }) => Service),
      ['garbage', 'many', 'none', 'other', 'port'],
    );
    peer[Symbol.dispose]();
    await victim.untilRecord('contents', isFailing);
    await check(STREAM_LOG_LINES);
  });

  it('gets a NACK for every service above the import limits until other services shrink [SVC-83]', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    using peer = await openHostileStream(victim, 'endless');
    const instancesOf = (Service: string, count: number) =>
      Array.from({ length: count }, (_, i) => ({ Node: { Node: `n${i}` }, Service: { Service } }));
    const parts = 16;
    const largeCount = IMPORTED_INSTANCES_MAX / parts;
    let nonces = 0;
    const nackMessageOf = async (name: string, count = largeCount): Promise<string | undefined> => {
      const Nodes = instancesOf(name, count);
      nonces += 1;
      const nonce = `n${nonces}`;
      return (await peer.sendAndAwaitAnswer(resourceResponse('service', name, { Nodes }, nonce), nonce)).Error?.message;
    };
    for (let i = 0; i < parts; i += 1) assert.equal(await nackMessageOf(`large-${i}`), undefined);
    const limit = new RegExp(`^limit imported-instances: at most ${IMPORTED_INSTANCES_MAX} instances `);
    for (let i = parts; i < 3 * parts; i += 1) assert.match((await nackMessageOf(`large-${i}`)) ?? '', limit);
    assert.match((await nackMessageOf('small', 1)) ?? '', limit);
    assert.equal(await nackMessageOf('large-0', 1), undefined);
    assert.equal(await nackMessageOf('small', 1), undefined);
    const shown = await importsOf(victim, 'endless');
    assert.equal(
      shown.reduce((sum, { Instances }) => sum + Instances, 0),
      IMPORTED_INSTANCES_MAX - largeCount + 2,
    );
    assert.equal(shown.filter(({ Refused }) => limit.test(Refused?.Reason ?? '')).length, 2 * parts);
    // The end of the stream is logged before the next test counts lines.
    peer[Symbol.dispose]();
    await victim.untilRecord('endless', isFailing);
    await check(STREAM_LOG_LINES);
  });

  it('is disconnected when it reads no answers [STREAM-49]', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    using peer = await openHostileStream(victim, 'deaf', true);
    const { response: bad } = resourceResponse('service', 'x', Buffer.alloc(1, 0xff));
    let nonces = 0;
    const sending = setInterval(() => {
      while (peer.call.stream.writable && peer.call.stream.writableLength < 256 * 1024) {
        nonces += 1;
        peer.call.send({ response: { ...bad, Nonce: String(nonces) } }, { heartbeat: {} });
      }
    }, 5);
    const { Failing } = await victim.untilRecord('deaf', isFailing, 40_000);
    clearInterval(sending);
    assert.match(Failing?.Reason ?? '', /^limit (acknowledgements-waiting|transport-stalled): /);
    await check(STREAM_LOG_LINES);
  });

  it('gets RESOURCE_EXHAUSTED when it opens streams too fast [STREAM-29]', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    const open = await exchangeToken(victim.peeringAddress, await victim.generate('opener'));
    const before = await victim.record('opener');
    const startMs = performance.now();
    const codes = new Map<number | undefined, number>();
    // A busy machine needs longer to reach the limit.
    const isOver = (): boolean => {
      const ms = performance.now() - startMs;
      return ms > 20_000 || (ms > 2_000 && codes.has(Code.ResourceExhausted));
    };
    const opener = async (): Promise<void> => {
      while (!isOver()) {
        using dialer = await dialRaw(victim.peeringAddress);
        const call = dialer.call();
        call.send({ open });
        const { code } = await Promise.race([call.responseEnded, delay(50, { code: 0 })]);
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    };
    await Promise.all([1, 2, 3, 4].map(opener));
    assert.ok((codes.get(Code.ResourceExhausted) ?? 0) > 0, JSON.stringify([...codes]));
    const record = await victim.untilRecord('opener', isFailing);
    // The duration of the attack, and time for a busy machine.
    const opens = STREAM_OPENS_BURST + (performance.now() - startMs + 3_000) / BACKOFF_MS_MIN;
    assert.ok(Number(record?.ModifyIndex) - Number(before?.ModifyIndex) <= 3 * opens);
    await check(STREAM_LOG_LINES * opens);
  });

  it('does not disturb other peerings when it connects as fast as it can', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    const startMs = performance.now();
    let connections = 0;
    const isOver = (): boolean => {
      const ms = performance.now() - startMs;
      return ms > 20_000 || (ms > 2_000 && connections > 50);
    };
    const connector = async (): Promise<void> => {
      while (!isOver()) {
        connections += 1;
        // Later connections can displace this one.
        const dialer = await dialRaw(victim.peeringAddress).catch(() => undefined);
        dialer?.call().send({ heartbeat: {} });
        dialer?.[Symbol.dispose]();
      }
    };
    await Promise.all(Array.from({ length: 8 }, connector));
    assert.ok(connections > 50, `${connections} connections`);
    await check(0);
  });

  it('cannot keep out other peers with 2,000 silent connections [STREAM-33]', async () => {
    const { check } = await monitorCluster(victim, 'friend');
    const port = victim.peeringPort;
    const idle: Socket[] = [];
    try {
      for (let i = 0; i < 2_000; i += 100) {
        const batch = Array.from({ length: 100 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
        await Promise.all(batch.map((socket) => once(socket, 'connect')));
        idle.push(...batch);
      }
      const { text } = await victim.request('GET', '/metrics');
      const unproven = Number(/^accord_peer_connections_unproven (\d+)$/m.exec(text)?.[1]);
      assert.ok(unproven <= UNAUTHENTICATED_CONNECTIONS_MAX, `${unproven} held`);
      assert.ok(Number(/^accord_peer_connections_refused_total (\d+)$/m.exec(text)?.[1]) > 0);
      await peerClusters(victim, friend, { to: 'late', from: 'late' });
      await until('the silent connections are closed', () => idle.every((socket) => socket.destroyed), 30_000);
    } finally {
      for (const socket of idle) socket.destroy();
    }
    await check(STREAM_LOG_LINES);
    assert.ok(isActive(await victim.record('late')));
  });
});
