import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { makeIdentity, type RawIdentity } from '../../../../test/support/peering/raw-acceptor.ts';
import {
  dialRaw,
  FRAME,
  h2Frame,
  openTls,
  PREFACE,
  type RawDialer,
  type Said,
  STREAM_PATH,
} from '../../../../test/support/peering/raw-peer.ts';
import { until } from '../../../../test/support/until.ts';
import { createLog } from '../../../http/telemetry/log.ts';
import { systemClock } from '../../../state/clock/clock.ts';
import { STREAMS_OF_CONNECTION_MAX } from '../../limits.ts';
import { PeerStreamService } from '../wire/gen/peering/peerstream_pb.ts';
import { listenForPeers, type PeerListener, peerCall } from './peer-listener.ts';

const HANDSHAKE_MS = 1_000;
const OPEN: Said = { open: { PeerID: 'p' } };

describe('the peer listener', { timeout: 60_000 }, () => {
  let identity: RawIdentity;
  let listener: PeerListener;
  let address: string;
  let healthy: RawDialer;
  const lines: string[] = [];

  async function listen(): Promise<PeerListener> {
    const log = createLog({
      level: 'info',
      format: 'json',
      destination: { write: (line: string) => lines.push(line) },
    });
    return await listenForPeers({
      host: '127.0.0.1',
      port: 0,
      identity: {
        ...identity,
        datacenter: 'dc1',
        current: () => ({ cert: identity.certificate, key: identity.key }),
        onChange: () => () => undefined,
        roots: () => [identity.root],
        [Symbol.dispose]: () => undefined,
      },
      handshakeMs: HANDSHAKE_MS,
      clock: systemClock,
      log,
    });
  }
  before(async () => {
    identity = await makeIdentity();
    listener = await listen();
    address = `127.0.0.1:${listener.address.port}`;
    // Whoever says Open has shown a secret, and hears everything again.
    listener.serve((router) =>
      router.service(PeerStreamService, {
        async *streamResources(incoming, { values }) {
          for await (const message of incoming) {
            if (message.Payload.case === 'open') peerCall(values).prove();
            yield message;
          }
        },
      }),
    );
    healthy = await dialRaw(address);
    const call = healthy.call();
    call.say(OPEN);
    await until('a peer is there', () => call.received.length === 1);
  });
  after(async () => {
    healthy?.[Symbol.dispose]();
    await listener?.[Symbol.asyncDispose]();
  });

  /** The peer that was there first still is, and another one is served. */
  async function serves(): Promise<void> {
    assert.equal(healthy.session.destroyed, false);
    using dialer = await dialRaw(address);
    const call = dialer.call();
    call.say(OPEN, { heartbeat: {} });
    await until('another peer is served', () => call.received.length === 2);
  }
  const port = (): number => listener.address.port;
  /** However it ends: `once` would take a reset, which meets who is cut while it writes, for a failure. */
  const gone = (socket: Socket): Promise<void> =>
    new Promise((resolve) => {
      socket.on('error', () => undefined).once('close', () => resolve());
      socket.resume();
      if (socket.destroyed) resolve();
    });
  const noStrangers = (): Promise<void> => until('no stranger is held', () => listener.unprovenCount === 0);

  it('has a certificate that only its own roots vouch for, for its name', async () => {
    const { root: ca, serverName } = identity;
    const other = await makeIdentity();
    const failure = (options: { ca: string; servername: string }): Promise<string | undefined> =>
      new Promise((resolve) => {
        const session = connectHttp2(`https://${address}`, options);
        session.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
        session.once('connect', () => session.close(() => resolve(undefined)));
      });
    assert.equal(await failure({ ca, servername: serverName }), undefined);
    assert.match(
      (await failure({ ca: other.root, servername: serverName })) ?? '',
      /^(UNABLE_TO|SELF_SIGNED|CERT_SIG)/,
    );
    assert.equal(await failure({ ca, servername: other.serverName }), 'ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('takes nothing older than TLS 1.2, and no other protocol than HTTP/2', async () => {
    const failure = (options: object): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTls({ port: port(), host: '127.0.0.1', rejectUnauthorized: false, ...options });
        socket.once('error', (error) => resolve(error.message));
        socket.once('secureConnect', () => resolve('connected'));
      });
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    assert.match(await failure({ ...old, ALPNProtocols: ['h2'] }), /protocol version/);
    assert.match(await failure({ ALPNProtocols: ['http/1.1'] }), /no application protocol/);
    const unsaid = connectTls({ port: port(), host: '127.0.0.1', rejectUnauthorized: false });
    unsaid.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const [answer] = (await once(unsaid, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.0 403/);
    await gone(unsaid);
    await noStrangers();
  });

  it('cuts who says nothing, or says it too slowly, at every layer, in the time of a handshake', async () => {
    const stranger = (): Socket => connectTcp(port(), '127.0.0.1').on('error', () => undefined);
    // Those that take longest to be made come first: all have to be there before the first of them is cut.
    const [encrypted, greeted] = await Promise.all([openTls(address), dialRaw(address)]);
    const unsaid = greeted.call();
    const silent = stranger();
    const slow = stranger();
    // A TLS record that is begun, byte by byte.
    const drip = setInterval(() => slow.write(Buffer.from([0x16])), 50).unref();
    slow.write(Buffer.from([0x16, 0x03, 0x01, 0x40, 0x00]));
    const garbage = stranger();
    garbage.write('GET / HTTP/1.1\r\nHost: accord\r\n\r\n');
    await until('all are held', () => listener.unprovenCount >= 4);
    await Promise.all([gone(silent), gone(slow), gone(garbage), gone(encrypted), greeted.closed, unsaid.ended]);
    clearInterval(drip);
    await noStrangers();
    await serves();
  });

  const REQUESTS: readonly (readonly [what: string, status: number, headers: OutgoingHttpHeaders])[] = [
    ['an unknown method', 404, { ':path': '/hashicorp.consul.internal.peerstream.PeerStreamService/Other' }],
    ['a query behind the method', 404, { ':path': `${STREAM_PATH}?x=1` }],
    ['no path that is one', 404, { ':path': '*', ':method': 'OPTIONS' }],
    ['GET', 405, { ':method': 'GET' }],
    ['no content type', 415, { 'content-type': '' }],
    ['JSON in gRPC', 415, { 'content-type': 'application/grpc+json' }],
    ['gRPC-web', 415, { 'content-type': 'application/grpc-web+proto' }],
    ['the Connect protocol', 415, { 'content-type': 'application/connect+proto' }],
    ['an authority that is none', 400, { ':authority': '[' }],
    ['an authority with three ports', 400, { ':authority': 'a:1:2:3' }],
    ['CONNECT', 405, { ':method': 'CONNECT', ':authority': 'a:1', ':path': undefined, ':scheme': undefined }],
  ];
  for (const [what, status, headers] of REQUESTS) {
    it(`answers ${status} to a request with ${what}`, async () => {
      using dialer = await dialRaw(address);
      const call = dialer.call({ headers });
      assert.equal((await call.answered).http, status);
      await serves();
    });
  }

  it('survives a request that names no authority at all', async () => {
    const socket = await openTls(address);
    const headers = h2Frame(FRAME.headers, 1, requestHeaders({ authority: false }), END_HEADERS);
    socket.write(Buffer.concat([PREFACE, h2Frame(FRAME.settings, 0), headers]));
    await gone(socket);
    await serves();
  });

  it('answers 503 until it serves', async () => {
    await using unready = await listen();
    using dialer = await dialRaw(`127.0.0.1:${unready.address.port}`);
    assert.equal((await dialer.call().answered).http, 503);
  });

  it('closes what is open when it is disposed, and takes nothing more', async () => {
    const other = await listen();
    const otherPort = other.address.port;
    const [silent, dialer] = await Promise.all([openTls(`127.0.0.1:${otherPort}`), dialRaw(`127.0.0.1:${otherPort}`)]);
    await other[Symbol.asyncDispose]();
    await Promise.all([gone(silent), dialer.closed]);
    await assert.rejects(dialRaw(`127.0.0.1:${otherPort}`), { code: 'ECONNREFUSED' });
  });

  it('opens no more streams on a connection than its limit, and ends one that goes on asking', async () => {
    using dialer = await dialRaw(address, { peerMaxConcurrentStreams: 2_000 });
    await once(dialer.session, 'remoteSettings');
    assert.equal(dialer.session.remoteSettings.maxConcurrentStreams, STREAMS_OF_CONNECTION_MAX);
    // Node's client keeps to it; a hostile one does not.
    const socket = await openTls(address);
    socket.write(Buffer.concat([PREFACE, h2Frame(FRAME.settings, 0)]));
    const ids = Array.from({ length: 1_000 }, (_, i) => 2 * i + 1);
    socket.write(Buffer.concat(ids.map((id) => h2Frame(FRAME.headers, id, requestHeaders(), END_HEADERS))));
    await gone(socket);
    await serves();
  });

  const END_HEADERS = 4;
  /** The headers of a call, in HPACK without its tables. */
  function requestHeaders({ authority = true } = {}): Buffer {
    const literal = (name: string, value: string): Buffer =>
      Buffer.concat([
        Buffer.from([0, name.length]),
        Buffer.from(name),
        Buffer.from([value.length]),
        Buffer.from(value),
      ]);
    return Buffer.concat([
      literal(':method', 'POST'),
      literal(':scheme', 'https'),
      literal(':path', STREAM_PATH),
      ...(authority ? [literal(':authority', 'a')] : []),
      literal('content-type', 'application/grpc'),
    ]);
  }

  const FLOODS: readonly (readonly [what: string, frames: (i: number) => Buffer])[] = [
    [
      'opens and resets streams',
      (i) =>
        Buffer.concat([
          h2Frame(FRAME.headers, 2 * i + 1, requestHeaders(), END_HEADERS),
          h2Frame(FRAME.reset, 2 * i + 1, Buffer.from([0, 0, 0, 8])),
        ]),
    ],
    [
      'goes on with headers for ever',
      (i) =>
        i === 0
          ? h2Frame(FRAME.headers, 1, requestHeaders())
          : h2Frame(FRAME.continuation, 1, Buffer.from([0, 1, 97, 1, 98])),
    ],
    ['sends settings', (i) => h2Frame(FRAME.settings, 0, Buffer.from([0, 4, 0, 0, i >> 8, i & 255]))],
    ['sends pings', () => h2Frame(FRAME.ping, 0, Buffer.alloc(8))],
    [
      'sends empty data',
      (i) => (i === 0 ? h2Frame(FRAME.headers, 1, requestHeaders(), END_HEADERS) : h2Frame(FRAME.data, 1)),
    ],
    ['sends frames of no known type', () => h2Frame(0xfa, 0, Buffer.alloc(64))],
    ['widens windows', () => h2Frame(FRAME.windowUpdate, 0, Buffer.from([0, 0, 0, 1]))],
    [
      'sends headers that grow',
      (i) => h2Frame(FRAME.headers, 2 * i + 1, Buffer.concat([requestHeaders(), bomb()]), END_HEADERS),
    ],
  ];
  /** A header that is put into the table once, and named a thousand times. */
  function bomb(): Buffer {
    const value = Buffer.alloc(100, 'x');
    return Buffer.concat([Buffer.from([0x40, 1, 97, value.length]), value, Buffer.alloc(8_000, 0xbe)]);
  }
  for (const [what, frames] of FLOODS) {
    it(`ends a connection that ${what} without end, and serves the others meanwhile`, async () => {
      const socket = await openTls(address);
      // It never reads.
      socket.pause();
      // However it ends: `once` would take an EPIPE of the flood for a failure.
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.on('error', () => undefined);
      socket.write(Buffer.concat([PREFACE, h2Frame(FRAME.settings, 0)]));
      let i = 0;
      const flood = setInterval(() => {
        for (let n = 0; n < 500 && socket.writable && socket.writableLength < 1_000_000; n += 1, i += 1) {
          socket.write(frames(i));
        }
      }, 5);
      await serves();
      await until('the connection is ended', () => listener.unprovenCount === 0);
      clearInterval(flood);
      socket.destroy();
      await closed;
      await serves();
    });
  }

  it('says nothing of all this in the log', () => {
    assert.deepEqual(lines, []);
  });
});
