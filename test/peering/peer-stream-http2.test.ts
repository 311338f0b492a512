/** Both sides of a peer stream over HTTP/2 with Connect. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Http2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { Code, createClient } from '@connectrpc/connect';
import { connectNodeAdapter, createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import type { Authorization, SessionHandle } from '../../src/peering/stream/contract.ts';
import { driveSession } from '../../src/peering/stream/session/drive-session.ts';
import { PeerStreamService } from '../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { systemClock } from '../../src/state/clock/clock.ts';
import { list, type ScriptedSource, scriptedSink, scriptedSource, service } from '../support/peering/scripted-peer.ts';
import { OPEN, TIMES } from '../support/peering/session-fixtures.ts';
import { until } from '../support/until.ts';

interface ConnectedSessions extends AsyncDisposable {
  readonly accepted: Promise<SessionHandle>;
  readonly dialed: SessionHandle;
  readonly acceptorSource: ScriptedSource;
  readonly acceptorApplied: readonly string[];
  readonly dialerApplied: readonly string[];
  /** Cuts the connection. */
  cut(): void;
}

/** Connects two sessions by a call over loopback. @param authorization defaults to accepting the stream */
async function connect(authorization?: Authorization): Promise<ConnectedSessions> {
  const acceptorSource = scriptedSource(list('web'), service('web', 2));
  const dialerSource = scriptedSource(list('api'), service('api'));
  const [acceptorSink, dialerSink] = [scriptedSink(), scriptedSink()];
  const accepted = Promise.withResolvers<SessionHandle>();
  const connections = new Set<Http2Session>();
  const server = createServer(
    connectNodeAdapter({
      routes: (router) =>
        router.service(PeerStreamService, {
          async *streamResources(incoming, context) {
            const authorize = async (): Promise<Authorization> =>
              authorization ?? { kind: 'accepted', outgoing: acceptorSource, incoming: acceptorSink };
            const callbacks = { authorize };
            const session = driveSession({ side: 'accepting', clock: systemClock, times: TIMES, callbacks });
            accepted.resolve(session);
            session.receive(incoming, context.signal);
            yield* session.outgoing;
          },
        }),
    }),
  );
  server.on('session', (connection) => connections.add(connection));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sessionManager = new Http2SessionManager(baseUrl);
  const client = createClient(PeerStreamService, createGrpcTransport({ baseUrl, sessionManager }));
  const dialed = driveSession({
    side: 'dialing',
    clock: systemClock,
    times: TIMES,
    callbacks: {},
    open: OPEN,
    outgoing: dialerSource,
    incoming: dialerSink,
  });
  dialed.receive(client.streamResources(dialed.outgoing, { signal: dialed.reset }));
  return {
    accepted: accepted.promise,
    dialed,
    acceptorSource,
    acceptorApplied: acceptorSink.applied,
    dialerApplied: dialerSink.applied,
    cut() {
      for (const connection of connections) connection.destroy();
    },
    async [Symbol.asyncDispose]() {
      dialed.stop('shutdown');
      await dialed.ended;
      sessionManager.abort();
      for (const connection of connections) connection.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Waits until both sides have applied the exports of the other. @returns the accepting session */
async function untilSynced(sessions: ConnectedSessions): Promise<SessionHandle> {
  await until(
    'both sides have applied the exports',
    () => sessions.acceptorApplied.length === 2 && sessions.dialerApplied.length === 2,
  );
  return await sessions.accepted;
}

suite('a peer stream over HTTP/2', () => {
  test('delivers the exports of both sides, and every change [STREAM-37]', async () => {
    await using sessions = await connect();
    await untilSynced(sessions);
    assert.deepEqual(new Set(sessions.dialerApplied), new Set(['exported-service-list web first', 'web 2']));
    assert.deepEqual(new Set(sessions.acceptorApplied), new Set(['exported-service-list api first', 'api 1']));
    sessions.acceptorSource.put(service('web', 3));
    await until('the change is applied', () => sessions.dialerApplied.includes('web 3'));
    await until('every resource is acknowledged', () => sessions.acceptorSource.reports.length === 3);
  });

  test('delivers Terminated from either side [STREAM-80]', async () => {
    for (const side of ['accepting', 'dialing'] as const) {
      await using sessions = await connect();
      const accepted = await untilSynced(sessions);
      const [deleted, other] = side === 'accepting' ? [accepted, sessions.dialed] : [sessions.dialed, accepted];
      deleted.terminate();
      assert.deepEqual(await other.ended, { kind: 'terminated-by-peer' });
      assert.deepEqual(await deleted.ended, { kind: 'terminated-here' });
    }
  });

  test('delivers Terminated when the peering is deleted [STREAM-28]', async () => {
    await using sessions = await connect({ kind: 'deleted' });
    assert.deepEqual(await sessions.dialed.ended, { kind: 'terminated-by-peer' });
  });

  test('delivers a refusal with LeaderAddress [STREAM-28]', async () => {
    const status = { code: Code.FailedPrecondition, message: 'elsewhere', leader: '10.0.0.1:8503' };
    await using sessions = await connect({ kind: 'refused', status });
    assert.deepEqual(await sessions.dialed.ended, { kind: 'refused', status });
  });

  test('delivers the status when the accepting side ends an open stream [STREAM-84]', async () => {
    await using sessions = await connect();
    const accepted = await untilSynced(sessions);
    accepted.stop('superseded');
    assert.deepEqual(await sessions.dialed.ended, {
      kind: 'closed-by-peer',
      status: { code: Code.Aborted, message: 'superseded by a newer stream' },
    });
  });

  test('ends on both sides when the connection is cut', async () => {
    await using sessions = await connect();
    const accepted = await untilSynced(sessions);
    sessions.cut();
    assert.equal((await sessions.dialed.ended).kind, 'transport-failed');
    assert.equal((await accepted.ended).kind, 'transport-failed');
  });
});
