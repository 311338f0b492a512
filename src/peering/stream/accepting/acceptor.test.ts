import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { constants } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { Code } from '@connectrpc/connect';
import { mustGenerate, tokenContent } from '../../../../test/support/peering/peering-requests.ts';
import {
  dialRaw,
  encodeMessage,
  grpcFrame,
  type MessageFields,
  type Outcome,
  type RawCall,
  type RawDialer,
} from '../../../../test/support/peering/raw-peer.ts';
import { startPeeringService } from '../../../../test/support/peering/start-peering-service.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import { until } from '../../../../test/support/until.ts';
import { MESSAGE_BYTES_MAX, STREAM_OPENS_BURST, STREAMS_PER_CONNECTION_MAX } from '../../limits.ts';
import { peerings } from '../../record/record.ts';
import { acceptedSecrets } from '../../record/secrets.ts';
import type { RunningPeering } from '../../run/start-peering.ts';
import { RESOURCE_KINDS } from '../wire/resources.ts';

const SESSIONS = { heartbeatIntervalMs: 500, heartbeatTimeoutMs: 20_000, handshakeTimeoutMs: 1_500 };
const STREAMS_MAX = 50;

// Verifies [STREAM-13]: the raw peer calls the methods by their full names.
describe('acceptor', { timeout: 60_000 }, () => {
  let api: Api;
  let running: RunningPeering;
  const lines: string[] = [];
  before(async () => {
    api = await startApi();
    running = await startPeeringService(api, lines, { sessions: SESSIONS, streamsMax: STREAMS_MAX });
  });
  after(async () => {
    await running?.[Symbol.asyncDispose]();
    await api?.[Symbol.asyncDispose]();
  });

  const dial = () => dialRaw(running.address);

  /** Makes a call with these messages and returns its outcome. */
  async function outcomeOf(...messages: readonly (MessageFields | Uint8Array)[]): Promise<Outcome> {
    using dialer = await dial();
    const call = dialer.call();
    for (const message of messages) call.write(message instanceof Uint8Array ? message : encodeMessage(message));
    return await call.closed;
  }

  /** Exchanges a secret on a new connection, because the server closes a connection without a stream. */
  async function exchanged(peerId: string, secret: string): ReturnType<RawDialer['exchange']> {
    using dialer = await dial();
    return await dialer.exchange(peerId, secret);
  }

  /** Creates a peering with a pending stream secret. Call it before opening the connection that presents the secret. */
  async function pendingPeer(name: string): Promise<{ PeerID: string; StreamSecretID: string }> {
    const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(api, name));
    const { code, secret } = await exchanged(PeerID, EstablishmentSecret);
    assert.equal(code, 0);
    return { PeerID, StreamSecretID: secret };
  }

  async function isLive(call: RawCall): Promise<void> {
    await until('the stream is live', () => call.received.length > 0);
  }

  it('rejects a first message other than Open [STREAM-28]', async () => {
    const url = RESOURCE_KINDS.list.url;
    const first: readonly MessageFields[] = [
      { request: { ResourceURL: url } },
      { request: { ResourceURL: url, ResponseNonce: '1' } },
      { request: { ResourceURL: url, ResponseNonce: '1', Error: { code: 3, message: 'no' } } },
      { response: { Nonce: '1', ResourceURL: url } },
      { terminated: {} },
      { heartbeat: {} },
      {},
    ];
    for (const message of first) {
      const { code, message: text } = await outcomeOf(message);
      assert.deepEqual([code, text], [Code.InvalidArgument, 'the first message must be Open'], JSON.stringify(message));
    }
  });

  it('rejects an unknown peering, and a wrong secret with the same status whatever secrets are stored [STREAM-28]', async () => {
    const StreamSecretID = randomUUID();
    const unknown = await outcomeOf({ open: { PeerID: randomUUID(), StreamSecretID } });
    assert.deepEqual([unknown.code, unknown.message], [Code.InvalidArgument, 'unknown peering ID']);

    const { PeerID: none } = tokenContent(await mustGenerate(api, 'no-secret'));
    const pending = await pendingPeer('pending-secret');
    const active = await pendingPeer('active-secret');
    using dialer = await dial();
    const call = dialer.call();
    call.send({ open: active });
    await isLive(call);
    for (const PeerID of [none, pending.PeerID, active.PeerID]) {
      for (const wrong of [StreamSecretID, '', 'x'.repeat(1024)]) {
        const { code, message } = await outcomeOf({ open: { PeerID, StreamSecretID: wrong } });
        assert.deepEqual([code, message], [Code.PermissionDenied, 'invalid peering stream secret']);
      }
    }
    assert.equal(call.stream.destroyed, false, 'the live stream stays open');
  });

  it('exchanges a secret once, and returns one status for every cause of failure [STREAM-20]', async () => {
    const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(api, 'exchange'));
    const answers = [
      await exchanged(randomUUID(), EstablishmentSecret),
      await exchanged(PeerID, randomUUID()),
      await exchanged(PeerID, ''),
      await exchanged('', ''),
    ];
    const valid = await exchanged(PeerID, EstablishmentSecret);
    answers.push(await exchanged(PeerID, EstablishmentSecret));
    assert.equal(valid.code, 0);
    for (const { code, message, secret } of answers) {
      assert.deepEqual([code, message, secret], [Code.PermissionDenied, 'invalid peering establishment secret', '']);
    }
  });

  it('accepts a pending secret and ends the stream of the previous one [STREAM-27] [STREAM-84]', async () => {
    const first = await pendingPeer('promoted');
    using dialer = await dial();
    const old = dialer.call();
    old.send({ open: first });
    await isLive(old);
    const second = await pendingPeer('promoted');
    assert.equal(second.PeerID, first.PeerID);
    assert.equal(old.stream.destroyed, false, 'a pending secret changes nothing before it is used');
    const newer = dialer.call();
    newer.send({ open: second });
    await isLive(newer);
    const { code, message } = await old.closed;
    assert.deepEqual([code, message], [Code.Aborted, 'superseded by a newer stream']);
    assert.equal((await outcomeOf({ open: first })).code, Code.PermissionDenied, 'the old secret is erased');
    assert.equal(api.state.snapshot.get(acceptedSecrets, first.PeerID)?.row.pending, undefined);
  });

  it('reports a deletion only to a stream with a secret of the peering [PEER-72]', async () => {
    const peer = await pendingPeer('deleted');
    await api.request('DELETE', '/v1/peering/deleted');
    using dialer = await dial();
    const call = dialer.call();
    call.send({ open: peer });
    const { code, message } = await call.closed;
    assert.deepEqual([code, message], [Code.Aborted, 'peering has been deleted']);
    assert.deepEqual(
      call.received.map(({ Payload }) => Payload.case),
      ['terminated'],
    );
    const other = await outcomeOf({ open: { ...peer, StreamSecretID: randomUUID() } });
    assert.deepEqual([other.code, other.message], [Code.InvalidArgument, 'unknown peering ID']);
  });

  it('ends a stream with a second Open [STREAM-30]', async () => {
    const peer = await pendingPeer('open-twice');
    const { code } = await outcomeOf({ open: peer }, { open: peer });
    assert.equal(code, Code.InvalidArgument);
  });

  it('subscribes to the digest only of an Accord cluster [STREAM-73] [STREAM-12] [STREAM-17]', async () => {
    const subscriptions = async (
      name: string,
      headers: Readonly<Record<string, string>>,
    ): Promise<readonly string[]> => {
      const peer = await pendingPeer(name);
      using dialer = await dial();
      const call = dialer.call({ headers });
      call.send({ open: peer }, { request: { ResourceURL: RESOURCE_KINDS.roots.url } });
      const payloads = () => call.received.map(({ Payload }) => Payload);
      // All subscriptions arrive before the first resource.
      await until('the roots are received', () => payloads().some(({ case: kind }) => kind === 'response'));
      return payloads().flatMap((payload) => (payload.case === 'request' ? [payload.value.ResourceURL] : []));
    };
    const usual = (['list', 'service', 'roots'] as const).map((kind) => RESOURCE_KINDS[kind].url);
    assert.deepEqual(await subscriptions('consul', {}), usual);
    const all = [...usual, RESOURCE_KINDS.digest.url];
    assert.deepEqual(await subscriptions('accord', { 'accord-version': '1.13.0' }), all);
  });

  it('rejects an Accord older than 1.13.0 [STREAM-11]', async () => {
    const peer = await pendingPeer('old');
    using dialer = await dial();
    const refused = dialer.call({ headers: { 'accord-version': '1.12.9' } });
    refused.send({ open: peer });
    const { code, message } = await refused.closed;
    assert.equal(code, Code.FailedPrecondition);
    assert.match(message, /^the peer runs Accord 1\.12\.9, this cluster 1\.13\.0: want at least 1\.13\.0/);
  });

  it('ends an unauthorized call after the handshake timeout, silent or in the middle of a message [STREAM-31]', async () => {
    using dialer = await dial();
    const [silent, begun] = [dialer.call(), dialer.call()];
    begun.write(grpcFrame(Buffer.alloc(3), { length: 100 }));
    for (const call of [silent, begun]) {
      const { code, message, reset } = await call.closed;
      assert.ok(code === Code.DeadlineExceeded ? message === 'handshake timeout' : reset !== 0 || code === undefined);
    }
    await dialer.closed;
  });

  it('rejects an unauthorized call that announces a large message [STREAM-32]', async () => {
    for (const length of [16 * 1024 + 1, MESSAGE_BYTES_MAX, 0xffffffff]) {
      const { code, message } = await outcomeOf(grpcFrame(Buffer.from('x'), { length }));
      assert.deepEqual(
        [code, message],
        [Code.ResourceExhausted, 'more than 16384 bytes before the stream was authorized'],
      );
    }
    const small = Buffer.concat(Array.from({ length: 20_000 }, () => grpcFrame(Buffer.alloc(0))));
    assert.ok([Code.InvalidArgument, Code.ResourceExhausted].includes((await outcomeOf(small)).code ?? 0));
  });

  it('resets a call whose client does not close its half [STREAM-88]', async () => {
    const peer = await pendingPeer('lingering');
    using dialer = await dial();
    const call = dialer.call({ neverEnds: true });
    call.send({ open: peer });
    await isLive(call);
    call.write(Buffer.alloc(MESSAGE_BYTES_MAX, 0xff));
    const { code, reset } = await call.closed;
    assert.equal(code, Code.ResourceExhausted);
    assert.equal(reset, constants.NGHTTP2_CANCEL);
    await dialer.closed;
  });

  const MALFORMED: readonly (readonly [name: string, bytes: Buffer, code: Code])[] = [
    ['a message of 8 MiB and a byte', grpcFrame(Buffer.alloc(MESSAGE_BYTES_MAX + 1)), Code.ResourceExhausted],
    ['a length of 4 GiB', grpcFrame(Buffer.from('x'), { length: 0xffffffff }), Code.ResourceExhausted],
    ['a compressed message', grpcFrame(Buffer.from('x'), { flags: 1 }), Code.InvalidArgument],
    ['bytes that are not protobuf', grpcFrame(Buffer.from('\xff\xff\xff\xff garbage', 'latin1')), Code.InvalidArgument],
    ['nested groups', grpcFrame(Buffer.alloc(1024 * 1024, 0x0b)), Code.InvalidArgument],
  ];
  for (const [name, bytes, wanted] of MALFORMED) {
    it(`ends a stream with a protocol error after ${name} [STREAM-9]`, async () => {
      const peer = await pendingPeer(name.replaceAll(' ', '-'));
      using dialer = await dial();
      const call = dialer.call();
      call.send({ open: peer });
      await isLive(call);
      call.write(bytes);
      const { code, message } = await call.responseEnded;
      assert.equal(code, wanted, message);
      const failing = (): string | undefined => api.state.snapshot.get(peerings, peer.PeerID)?.row.failing?.reason;
      await until('the record has the reason', () => failing() !== undefined);
      assert.match(failing() ?? '', /^protocol error: /);
    });
  }

  it('limits how often the streams of a peering are opened, and names the limit [STREAM-29]', async () => {
    const peer = await pendingPeer('often');
    await outcomeOf({ open: peer }, { open: peer });
    // In parallel on one connection, because a slow machine could otherwise stay below the rate.
    using dialer = await dial();
    const outcomes: Outcome[] = [];
    while (outcomes.length < 2 * STREAM_OPENS_BURST) {
      const calls = Array.from({ length: STREAMS_PER_CONNECTION_MAX }, () => dialer.call());
      for (const call of calls) call.send({ open: peer }, { open: peer });
      outcomes.push(...(await Promise.all(calls.map(({ closed: ended }) => ended))));
    }
    const refused = outcomes.filter(({ code }) => code === Code.ResourceExhausted);
    assert.ok(refused.length > 0 && refused.length < outcomes.length, `${refused.length} of ${outcomes.length}`);
    assert.match(refused[0]?.message ?? '', /^streams of this peering are opened too often/);
    const other = await pendingPeer('seldom');
    assert.notEqual((await outcomeOf({ open: other }, { open: other })).code, Code.ResourceExhausted);
  });

  it('rejects a stream above limits.streams [STREAM-28]', async () => {
    await until('earlier streams are closed', () => running.live.count === 0);
    const dialers: RawDialer[] = [];
    try {
      while (running.live.count < STREAMS_MAX) {
        const count = Math.min(STREAMS_PER_CONNECTION_MAX, STREAMS_MAX - running.live.count);
        const peers = await Promise.all(Array.from({ length: count }, () => pendingPeer(randomUUID())));
        const another = await dial();
        dialers.push(another);
        const calls = peers.map((peer) => {
          const call = another.call();
          call.send({ open: peer });
          return call;
        });
        await Promise.all(calls.map(isLive));
      }
      const { code, message } = await outcomeOf({ open: await pendingPeer('one-too-many') });
      assert.deepEqual(
        [code, message],
        [Code.ResourceExhausted, 'limits.streams: this server holds 50 streams already'],
      );
    } finally {
      for (const each of dialers) each[Symbol.dispose]();
    }
    await until('all streams are closed', () => running.live.count === 0);
  });

  it('logs unauthenticated calls at debug only, and never a secret', async () => {
    const before = lines.length;
    await outcomeOf({ heartbeat: {} });
    await outcomeOf({ open: { PeerID: randomUUID(), StreamSecretID: 'hunter2' } });
    await outcomeOf(grpcFrame(Buffer.from('x'), { length: 0xffffffff }));
    const written = lines.slice(before).map((line) => JSON.parse(line) as { level: string });
    assert.deepEqual(
      written.filter(({ level }) => level !== 'debug'),
      [],
    );
    assert.ok(!lines.join('').includes('hunter2'));
    const worse = lines.filter((line) => /"level":"(error|fatal)"/.test(line));
    assert.deepEqual(worse, []);
  });
});
