import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { makeIdentity, type RawIdentity } from '../../../../test/support/peering/raw-acceptor.ts';
import {
  dialRaw,
  FRAME_TYPE,
  http2Frame,
  type MessageFields,
  openTls,
  PREFACE,
  type RawDialer,
  STREAM_PATH,
} from '../../../../test/support/peering/raw-peer.ts';
import { until } from '../../../../test/support/until.ts';
import { createLog } from '../../../http/telemetry/log.ts';
import { systemClock } from '../../../state/clock/clock.ts';
import { STREAMS_PER_CONNECTION_MAX } from '../../limits.ts';
import { PeerStreamService } from '../wire/gen/peering/peerstream_pb.ts';
import { listenForPeers, type PeerListener, peerCall } from './peer-listener.ts';

const HANDSHAKE_MS = 1_000;
const OPEN: MessageFields = { open: { PeerID: 'p' } };

describe('peer listener', { timeout: 60_000 }, () => {
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
    // Treats an Open as authenticated and echoes every message.
    listener.serve((router) =>
      router.service(PeerStreamService, {
        async *streamResources(incoming, { values }) {
          for await (const message of incoming) {
            if (message.Payload.case === 'open') peerCall(values).markAuthenticated();
            yield message;
          }
        },
      }),
    );
    healthy = await dialRaw(address);
    const call = healthy.call();
    call.send(OPEN);
    await until('a peer is connected', () => call.received.length === 1);
  });
  after(async () => {
    healthy?.[Symbol.dispose]();
    await listener?.[Symbol.asyncDispose]();
  });

  /** Asserts that the first peer is still connected and that another one is served. */
  async function serves(): Promise<void> {
    assert.equal(healthy.session.destroyed, false);
    using dialer = await dialRaw(address);
    const call = dialer.call();
    call.send(OPEN, { heartbeat: {} });
    await until('another peer is served', () => call.received.length === 2);
  }
  const port = (): number => listener.address.port;
  /** Waits for the end of a socket. `once` would reject on a reset, which happens while the client writes. */
  const untilClosed = (socket: Socket): Promise<void> =>
    new Promise((resolve) => {
      socket.on('error', () => undefined).once('close', () => resolve());
      socket.resume();
      if (socket.destroyed) resolve();
    });
  const untilNoneCounted = (): Promise<void> =>
    until('no unauthenticated connection is counted', () => listener.unauthenticatedCount === 0);

  it('serves a certificate that verifies only with its own roots and server name', async () => {
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

  it('accepts TLS 1.2 and later, and HTTP/2 only [STREAM-5] [STREAM-7]', async () => {
    const failure = (options: object): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTls({ port: port(), host: '127.0.0.1', rejectUnauthorized: false, ...options });
        socket.once('error', (error) => resolve(error.message));
        socket.once('secureConnect', () => resolve('connected'));
      });
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    assert.match(await failure({ ...old, ALPNProtocols: ['h2'] }), /protocol version/);
    assert.match(await failure({ ALPNProtocols: ['http/1.1'] }), /no application protocol/);
    const withoutAlpn = connectTls({ port: port(), host: '127.0.0.1', rejectUnauthorized: false });
    withoutAlpn.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const [answer] = (await once(withoutAlpn, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.0 403/);
    await untilClosed(withoutAlpn);
    await untilNoneCounted();
  });

  it('closes a silent or slow client at every layer after the handshake timeout [STREAM-34]', async () => {
    const client = (): Socket => connectTcp(port(), '127.0.0.1').on('error', () => undefined);
    // The slowest to open come first, because all must be open before the first of them is closed.
    const [encrypted, http2] = await Promise.all([openTls(address), dialRaw(address)]);
    const silentCall = http2.call();
    const silent = client();
    const slow = client();
    // An incomplete TLS record, one byte at a time.
    const drip = setInterval(() => slow.write(Buffer.from([0x16])), 50).unref();
    slow.write(Buffer.from([0x16, 0x03, 0x01, 0x40, 0x00]));
    const garbage = client();
    garbage.write('GET / HTTP/1.1\r\nHost: accord\r\n\r\n');
    await until('all connections are counted', () => listener.unauthenticatedCount >= 4);
    await Promise.all([
      untilClosed(silent),
      untilClosed(slow),
      untilClosed(garbage),
      untilClosed(encrypted),
      http2.closed,
      silentCall.closed,
    ]);
    clearInterval(drip);
    await untilNoneCounted();
    await serves();
  });

  const REQUESTS: readonly (readonly [name: string, status: number, headers: OutgoingHttpHeaders])[] = [
    ['an unknown method', 404, { ':path': '/hashicorp.consul.internal.peerstream.PeerStreamService/Other' }],
    ['a query after the method', 404, { ':path': `${STREAM_PATH}?x=1` }],
    ['the path *', 404, { ':path': '*', ':method': 'OPTIONS' }],
    ['GET', 405, { ':method': 'GET' }],
    ['no content type', 415, { 'content-type': '' }],
    ['JSON in gRPC', 415, { 'content-type': 'application/grpc+json' }],
    ['gRPC-web', 415, { 'content-type': 'application/grpc-web+proto' }],
    ['the Connect protocol', 415, { 'content-type': 'application/connect+proto' }],
    ['an invalid authority', 400, { ':authority': '[' }],
    ['an authority with three ports', 400, { ':authority': 'a:1:2:3' }],
    ['CONNECT', 405, { ':method': 'CONNECT', ':authority': 'a:1', ':path': undefined, ':scheme': undefined }],
  ];
  for (const [name, status, headers] of REQUESTS) {
    it(`returns ${status} for a request with ${name} [STREAM-8]`, async () => {
      using dialer = await dialRaw(address);
      const call = dialer.call({ headers });
      assert.equal((await call.responseEnded).http, status);
      await serves();
    });
  }

  it('keeps serving after a request without an authority', async () => {
    const socket = await openTls(address);
    const headers = http2Frame(FRAME_TYPE.headers, 1, requestHeaders({ authority: false }), END_HEADERS);
    socket.write(Buffer.concat([PREFACE, http2Frame(FRAME_TYPE.settings, 0), headers]));
    await untilClosed(socket);
    await serves();
  });

  it('returns 503 before it serves [STREAM-8]', async () => {
    await using unready = await listen();
    using dialer = await dialRaw(`127.0.0.1:${unready.address.port}`);
    assert.equal((await dialer.call().responseEnded).http, 503);
  });

  it('closes all connections when it is disposed, and accepts no more', async () => {
    const other = await listen();
    const otherPort = other.address.port;
    const [silent, dialer] = await Promise.all([openTls(`127.0.0.1:${otherPort}`), dialRaw(`127.0.0.1:${otherPort}`)]);
    await other[Symbol.asyncDispose]();
    await Promise.all([untilClosed(silent), dialer.closed]);
    await assert.rejects(dialRaw(`127.0.0.1:${otherPort}`), { code: 'ECONNREFUSED' });
  });

  it('limits the streams of a connection, and closes a connection that ignores the limit [STREAM-35]', async () => {
    using dialer = await dialRaw(address, { peerMaxConcurrentStreams: 2_000 });
    await once(dialer.session, 'remoteSettings');
    assert.equal(dialer.session.remoteSettings.maxConcurrentStreams, STREAMS_PER_CONNECTION_MAX);
    // Node's client respects the limit, so this client writes raw frames.
    const socket = await openTls(address);
    socket.write(Buffer.concat([PREFACE, http2Frame(FRAME_TYPE.settings, 0)]));
    const ids = Array.from({ length: 1_000 }, (_, i) => 2 * i + 1);
    socket.write(Buffer.concat(ids.map((id) => http2Frame(FRAME_TYPE.headers, id, requestHeaders(), END_HEADERS))));
    await untilClosed(socket);
    await serves();
  });

  const END_HEADERS = 4;
  /** Returns the headers of a call in HPACK without its tables. */
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

  const FLOODS: readonly (readonly [name: string, frames: (i: number) => Buffer])[] = [
    [
      'opens and resets streams',
      (i) =>
        Buffer.concat([
          http2Frame(FRAME_TYPE.headers, 2 * i + 1, requestHeaders(), END_HEADERS),
          http2Frame(FRAME_TYPE.reset, 2 * i + 1, Buffer.from([0, 0, 0, 8])),
        ]),
    ],
    [
      'sends endless headers',
      (i) =>
        i === 0
          ? http2Frame(FRAME_TYPE.headers, 1, requestHeaders())
          : http2Frame(FRAME_TYPE.continuation, 1, Buffer.from([0, 1, 97, 1, 98])),
    ],
    ['sends settings', (i) => http2Frame(FRAME_TYPE.settings, 0, Buffer.from([0, 4, 0, 0, i >> 8, i & 255]))],
    ['sends pings', () => http2Frame(FRAME_TYPE.ping, 0, Buffer.alloc(8))],
    [
      'sends empty data',
      (i) =>
        i === 0 ? http2Frame(FRAME_TYPE.headers, 1, requestHeaders(), END_HEADERS) : http2Frame(FRAME_TYPE.data, 1),
    ],
    ['sends frames of no known type', () => http2Frame(0xfa, 0, Buffer.alloc(64))],
    ['widens windows', () => http2Frame(FRAME_TYPE.windowUpdate, 0, Buffer.from([0, 0, 0, 1]))],
    [
      'sends headers that grow',
      (i) => http2Frame(FRAME_TYPE.headers, 2 * i + 1, Buffer.concat([requestHeaders(), bomb()]), END_HEADERS),
    ],
  ];
  /** Returns a header that is added to the HPACK table once and referenced thousands of times. */
  function bomb(): Buffer {
    const value = Buffer.alloc(100, 'x');
    return Buffer.concat([Buffer.from([0x40, 1, 97, value.length]), value, Buffer.alloc(8_000, 0xbe)]);
  }
  for (const [name, frames] of FLOODS) {
    it(`closes a connection that ${name} in a loop, and serves other clients meanwhile`, async () => {
      const socket = await openTls(address);
      // The client never reads.
      socket.pause();
      // `once` from node:events would reject on an EPIPE of the flood.
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.on('error', () => undefined);
      socket.write(Buffer.concat([PREFACE, http2Frame(FRAME_TYPE.settings, 0)]));
      let i = 0;
      const flood = setInterval(() => {
        for (let n = 0; n < 500 && socket.writable && socket.writableLength < 1_000_000; n += 1, i += 1) {
          socket.write(frames(i));
        }
      }, 5);
      await serves();
      await until('the connection is closed', () => listener.unauthenticatedCount === 0);
      clearInterval(flood);
      socket.destroy();
      await closed;
      await serves();
    });
  }

  it('logs none of these connections at level info or above', () => {
    assert.deepEqual(lines, []);
  });
});
