import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { constants } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { Code } from '@connectrpc/connect';
import { generated } from '../../../../test/support/peering/peering.ts';
import {
  dialRaw,
  framed,
  type Outcome,
  type RawCall,
  type RawDialer,
  readToken,
  type Said,
  said,
} from '../../../../test/support/peering/raw-peer.ts';
import { startPeeringOf } from '../../../../test/support/peering/running-peering.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import { until } from '../../../../test/support/until.ts';
import { MESSAGE_BYTES_MAX, STREAM_OPENS_BURST, STREAMS_OF_CONNECTION_MAX } from '../../limits.ts';
import { peerings } from '../../record/record.ts';
import { acceptedSecrets } from '../../record/secrets.ts';
import type { RunningPeering } from '../../start-peering.ts';
import { RESOURCE_KINDS } from '../wire/resources.ts';

const SESSIONS = { heartbeatIntervalMs: 500, heartbeatTimeoutMs: 20_000, handshakeTimeoutMs: 1_500 };
const STREAMS_MAX = 50;

describe('the accepting side', { timeout: 60_000 }, () => {
  let api: Api;
  let running: RunningPeering;
  const lines: string[] = [];
  before(async () => {
    api = await startApi();
    running = await startPeeringOf(api, lines, { sessions: SESSIONS, streamsMax: STREAMS_MAX });
  });
  after(async () => {
    await running?.[Symbol.asyncDispose]();
    await api?.[Symbol.asyncDispose]();
  });

  const dial = () => dialRaw(running.address);

  /** A call that says these things; its outcome. */
  async function outcomeOf(...messages: readonly (Said | Uint8Array)[]): Promise<Outcome> {
    using dialer = await dial();
    const call = dialer.call();
    for (const message of messages) call.write(message instanceof Uint8Array ? message : said(message));
    return await call.ended;
  }

  /** An exchange on a connection of its own: one that shows no stream secret is cut before long. */
  async function exchanged(peerId: string, secret: string): ReturnType<RawDialer['exchange']> {
    using dialer = await dial();
    return await dialer.exchange(peerId, secret);
  }

  /** A peering of this name, and a stream secret for it that was not used yet. To be had before the connection that shows it. */
  async function pendingPeer(name: string): Promise<{ PeerID: string; StreamSecretID: string }> {
    const { PeerID, EstablishmentSecret } = readToken(await generated(api, name));
    const { code, secret } = await exchanged(PeerID, EstablishmentSecret);
    assert.equal(code, 0);
    return { PeerID, StreamSecretID: secret };
  }

  async function isLive(call: RawCall): Promise<void> {
    await until('the stream is live', () => call.received.length > 0);
  }

  it('refuses whatever is not Open first', async () => {
    const url = RESOURCE_KINDS.list.url;
    const first: readonly Said[] = [
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

  it('refuses an unknown peering, and says the same of a wrong secret whatever secrets there are', async () => {
    const StreamSecretID = randomUUID();
    const unknown = await outcomeOf({ open: { PeerID: randomUUID(), StreamSecretID } });
    assert.deepEqual([unknown.code, unknown.message], [Code.InvalidArgument, 'unknown peering ID']);

    const { PeerID: none } = readToken(await generated(api, 'no-secret'));
    const pending = await pendingPeer('pending-secret');
    const active = await pendingPeer('active-secret');
    using dialer = await dial();
    const call = dialer.call();
    call.say({ open: active });
    await isLive(call);
    for (const PeerID of [none, pending.PeerID, active.PeerID]) {
      for (const wrong of [StreamSecretID, '', 'x'.repeat(1024)]) {
        const { code, message } = await outcomeOf({ open: { PeerID, StreamSecretID: wrong } });
        assert.deepEqual([code, message], [Code.PermissionDenied, 'invalid peering stream secret']);
      }
    }
    assert.equal(call.stream.destroyed, false, 'the stream that is live stays');
  });

  it('gives a secret once, and says the same whatever is wrong', async () => {
    const { PeerID, EstablishmentSecret } = readToken(await generated(api, 'exchange'));
    const answers = [
      await exchanged(randomUUID(), EstablishmentSecret),
      await exchanged(PeerID, randomUUID()),
      await exchanged(PeerID, ''),
      await exchanged('', ''),
    ];
    const good = await exchanged(PeerID, EstablishmentSecret);
    answers.push(await exchanged(PeerID, EstablishmentSecret));
    assert.equal(good.code, 0);
    for (const { code, message, secret } of answers) {
      assert.deepEqual([code, message, secret], [Code.PermissionDenied, 'invalid peering establishment secret', '']);
    }
  });

  it('takes a pending secret, which ends the stream of the one before', async () => {
    const first = await pendingPeer('promoted');
    using dialer = await dial();
    const old = dialer.call();
    old.say({ open: first });
    await isLive(old);
    const second = await pendingPeer('promoted');
    assert.equal(second.PeerID, first.PeerID);
    assert.equal(old.stream.destroyed, false, 'a secret that was only given changes nothing');
    const newer = dialer.call();
    newer.say({ open: second });
    await isLive(newer);
    const { code, message } = await old.ended;
    assert.deepEqual([code, message], [Code.Aborted, 'superseded by a newer stream']);
    assert.equal((await outcomeOf({ open: first })).code, Code.PermissionDenied, 'the old secret is erased');
    assert.equal(api.state.snapshot.get(acceptedSecrets, first.PeerID)?.row.pending, undefined);
  });

  it('tells only who was a peer that the peering was deleted', async () => {
    const peer = await pendingPeer('deleted');
    await api.request('DELETE', '/v1/peering/deleted');
    using dialer = await dial();
    const call = dialer.call();
    call.say({ open: peer });
    const { code, message } = await call.ended;
    assert.deepEqual([code, message], [Code.Aborted, 'peering has been deleted']);
    assert.deepEqual(
      call.received.map(({ Payload }) => Payload.case),
      ['terminated'],
    );
    const other = await outcomeOf({ open: { ...peer, StreamSecretID: randomUUID() } });
    assert.deepEqual([other.code, other.message], [Code.InvalidArgument, 'unknown peering ID']);
  });

  it('ends a stream that says Open twice', async () => {
    const peer = await pendingPeer('open-twice');
    const { code } = await outcomeOf({ open: peer }, { open: peer });
    assert.equal(code, Code.InvalidArgument);
  });

  it('asks for a digest of what was sent only who says that it is Accord', async () => {
    const asked = async (name: string, headers: Readonly<Record<string, string>>): Promise<readonly string[]> => {
      const peer = await pendingPeer(name);
      using dialer = await dial();
      const call = dialer.call({ headers });
      call.say({ open: peer }, { request: { ResourceURL: RESOURCE_KINDS.roots.url } });
      const payloads = () => call.received.map(({ Payload }) => Payload);
      // Everything that it asks for comes before the first thing that it has.
      await until('the roots have come', () => payloads().some(({ case: kind }) => kind === 'response'));
      return payloads().flatMap((payload) => (payload.case === 'request' ? [payload.value.ResourceURL] : []));
    };
    const usual = (['list', 'service', 'roots'] as const).map((kind) => RESOURCE_KINDS[kind].url);
    assert.deepEqual(await asked('consul', {}), usual);
    const all = [...usual, RESOURCE_KINDS.digest.url];
    assert.deepEqual(await asked('accord', { 'accord-version': '1.13.0' }), all);
  });

  it('refuses what is older than the first version, and takes who says none', async () => {
    const peer = await pendingPeer('old');
    using dialer = await dial();
    const refused = dialer.call({ headers: { 'accord-version': '1.12.9' } });
    refused.say({ open: peer });
    const { code, message } = await refused.ended;
    assert.equal(code, Code.FailedPrecondition);
    assert.match(message, /^the peer runs Accord 1\.12\.9, this cluster 1\.13\.0: want at least 1\.13\.0/);
  });

  it('lets a stranger wait no longer than the handshake takes, with a message begun or none', async () => {
    using dialer = await dial();
    const [silent, begun] = [dialer.call(), dialer.call()];
    begun.write(framed(Buffer.alloc(3), { length: 100 }));
    for (const call of [silent, begun]) {
      const { code, message, reset } = await call.ended;
      assert.ok(code === Code.DeadlineExceeded ? message === 'handshake timeout' : reset !== 0 || code === undefined);
    }
    await dialer.closed;
  });

  it('gives strangers no room for what they only announce', async () => {
    for (const length of [16 * 1024 + 1, MESSAGE_BYTES_MAX, 0xffffffff]) {
      const { code, message } = await outcomeOf(framed(Buffer.from('x'), { length }));
      assert.deepEqual(
        [code, message],
        [Code.ResourceExhausted, 'more than 16384 bytes before the stream was authorized'],
      );
    }
    const small = Buffer.concat(Array.from({ length: 20_000 }, () => framed(Buffer.alloc(0))));
    assert.ok([Code.InvalidArgument, Code.ResourceExhausted].includes((await outcomeOf(small)).code ?? 0));
  });

  it('cuts a call that has its answer and does not leave', async () => {
    const peer = await pendingPeer('lingering');
    using dialer = await dial();
    const call = dialer.call({ lingering: true });
    call.say({ open: peer });
    await isLive(call);
    call.write(Buffer.alloc(MESSAGE_BYTES_MAX, 0xff));
    const { code, reset } = await call.ended;
    assert.equal(code, Code.ResourceExhausted);
    assert.equal(reset, constants.NGHTTP2_CANCEL);
    await dialer.closed;
  });

  const MALFORMED: readonly (readonly [what: string, bytes: Buffer, code: Code])[] = [
    ['a message of 8 MiB and a byte', framed(Buffer.alloc(MESSAGE_BYTES_MAX + 1)), Code.ResourceExhausted],
    ['a length of 4 GiB', framed(Buffer.from('x'), { length: 0xffffffff }), Code.ResourceExhausted],
    ['a compressed message', framed(Buffer.from('x'), { flags: 1 }), Code.InvalidArgument],
    ['no protobuf', framed(Buffer.from('\xff\xff\xff\xff garbage', 'latin1')), Code.InvalidArgument],
    ['groups in groups', framed(Buffer.alloc(1024 * 1024, 0x0b)), Code.InvalidArgument],
  ];
  for (const [what, bytes, wanted] of MALFORMED) {
    it(`ends the stream of a peer that sends ${what}, and says why`, async () => {
      const peer = await pendingPeer(what.replaceAll(' ', '-'));
      using dialer = await dial();
      const call = dialer.call();
      call.say({ open: peer });
      await isLive(call);
      call.write(bytes);
      const { code, message } = await call.answered;
      assert.equal(code, wanted, message);
      const failing = (): string | undefined => api.state.snapshot.get(peerings, peer.PeerID)?.row.failing?.reason;
      await until('the record says why', () => failing() !== undefined);
      assert.match(failing() ?? '', /^protocol error: /);
    });
  }

  it('opens the streams of a peering as often as a bad network needs, and then says which limit it is', async () => {
    const peer = await pendingPeer('often');
    await outcomeOf({ open: peer }, { open: peer });
    // Side by side on one connection: a busy machine must not take as long for them as it takes until more are let.
    using dialer = await dial();
    const outcomes: Outcome[] = [];
    while (outcomes.length < 2 * STREAM_OPENS_BURST) {
      const calls = Array.from({ length: STREAMS_OF_CONNECTION_MAX }, () => dialer.call());
      for (const call of calls) call.say({ open: peer }, { open: peer });
      outcomes.push(...(await Promise.all(calls.map(({ ended }) => ended))));
    }
    const refused = outcomes.filter(({ code }) => code === Code.ResourceExhausted);
    assert.ok(refused.length > 0 && refused.length < outcomes.length, `${refused.length} of ${outcomes.length}`);
    assert.match(refused[0]?.message ?? '', /^streams of this peering are opened too often/);
    const other = await pendingPeer('seldom');
    assert.notEqual((await outcomeOf({ open: other }, { open: other })).code, Code.ResourceExhausted);
  });

  it('holds no more streams than limits.streams', async () => {
    await until('those of before are gone', () => running.live.count === 0);
    const dialers: RawDialer[] = [];
    try {
      while (running.live.count < STREAMS_MAX) {
        const count = Math.min(STREAMS_OF_CONNECTION_MAX, STREAMS_MAX - running.live.count);
        const peers = await Promise.all(Array.from({ length: count }, () => pendingPeer(randomUUID())));
        const another = await dial();
        dialers.push(another);
        const calls = peers.map((peer) => {
          const call = another.call();
          call.say({ open: peer });
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
    await until('all are gone', () => running.live.count === 0);
  });

  it('logs nothing at info and above for strangers, and no secret for anybody', async () => {
    const before = lines.length;
    await outcomeOf({ heartbeat: {} });
    await outcomeOf({ open: { PeerID: randomUUID(), StreamSecretID: 'hunter2' } });
    await outcomeOf(framed(Buffer.from('x'), { length: 0xffffffff }));
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
