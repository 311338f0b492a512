/** Replays recorded streams of Consul against a session, see `test/data/peer-stream/README.md`. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { create, fromBinary } from '@bufbuild/protobuf';
import type { IncomingResources, SessionEnd, SessionHandle } from '../../src/peering/stream/contract.ts';
import { driveSession } from '../../src/peering/stream/session/drive-session.ts';
import {
  PeeringServerAddressesSchema,
  PeeringTrustBundleSchema,
} from '../../src/peering/stream/wire/gen/peering/peering_pb.ts';
import {
  type ExportedService,
  type ReplicationMessage,
  type ReplicationMessage_Open,
  ReplicationMessageSchema,
} from '../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { decodeResource, messageBytes, readMessage } from '../../src/peering/stream/wire/messages.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { attachPeer, list, type ScriptedPeer, scriptedSource, service } from '../support/peering/scripted-peer.ts';
import { TIMES } from '../support/peering/session-fixtures.ts';

interface RecordedMessage {
  readonly from: 'dialer' | 'acceptor';
  readonly kind: string;
  readonly bytes: Uint8Array;
  readonly message: ReplicationMessage;
}

function recorded(name: string): readonly RecordedMessage[] {
  const text = readFileSync(new URL(`../data/peer-stream/${name}.jsonl`, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const {
        from,
        kind,
        bytes: base64,
      } = JSON.parse(line) as { from: RecordedMessage['from']; kind: string; bytes: string };
      const bytes = Buffer.from(base64, 'base64');
      return { from, kind, bytes, message: fromBinary(ReplicationMessageSchema, bytes) };
    });
}

/** Incoming resources that keep the last version of each service. */
interface Imports extends IncomingResources {
  /** Returns the instances of each imported service. */
  table(): Readonly<Record<string, readonly string[]>>;
  /** The other kinds of resources that were received. */
  readonly otherKinds: Set<string>;
}

function createImports(): Imports {
  const services = new Map<string, ExportedService>();
  const otherKinds = new Set<string>();
  let names: readonly string[] = [];
  const instances = ({ Nodes }: ExportedService): readonly string[] =>
    Nodes.map(({ Node, Service, Checks }) => {
      const states = Checks.map(({ Status }) => Status).join('+') || 'no checks';
      return `${Service?.ID} at ${Service?.Address || Node?.Address}:${Service?.Port} ${states}`;
    });
  return {
    otherKinds,
    table: () => Object.fromEntries(names.map((name) => [name, services.has(name) ? instances(serviceOf(name)) : []])),
    async apply(resource) {
      if (resource.kind === 'service') services.set(resource.id, resource.message);
      else if (resource.kind === 'list') names = resource.message.Services;
      else otherKinds.add(resource.kind);
    },
    undecodable: ({ id }) => assert.fail(`${id} cannot be decoded`),
  };
  function serviceOf(name: string): ExportedService {
    const found = services.get(name);
    assert.ok(found);
    return found;
  }
}

interface Replayed {
  readonly end: SessionEnd;
  /** The nonces of Consul's responses. */
  readonly nonces: readonly string[];
  /** The nonces that the session answered. A NACK is marked with `!`. */
  readonly answers: readonly string[];
  readonly session: SessionHandle;
  readonly imported: Imports;
  readonly reports: readonly string[];
}

/** Receives all messages of the session and collects its answers. */
async function collect(peer: ScriptedPeer, answers: string[]): Promise<void> {
  for (let message = await peer.receive(); message !== undefined; message = await peer.receive()) {
    if (message.Payload.case !== 'request' || message.Payload.value.ResponseNonce === '') continue;
    const { ResponseNonce: nonce, Error: error } = message.Payload.value;
    answers.push(error === undefined ? nonce : `!${nonce}`);
  }
}

/** Sends Consul's messages of a recording to a session of the other side. */
async function replay(name: string, consul: RecordedMessage['from'], open: ReplicationMessage_Open): Promise<Replayed> {
  const clock = createFakeClock();
  const imported = createImports();
  const source = scriptedSource(
    ...(consul === 'dialer'
      ? [
          list('api'),
          { kind: 'roots', id: 'roots', message: create(PeeringTrustBundleSchema) } as const,
          { kind: 'server-addresses', id: 'server-addrs', message: create(PeeringServerAddressesSchema) } as const,
        ]
      : [list('billing'), service('billing')]),
  );
  const common = { clock, times: TIMES };
  const accepted = { kind: 'accepted', outgoing: source, incoming: imported } as const;
  const session =
    consul === 'dialer'
      ? driveSession({ ...common, side: 'accepting', callbacks: { authorize: async () => accepted } })
      : driveSession({ ...common, side: 'dialing', callbacks: {}, open, outgoing: source, incoming: imported });
  const peer = attachPeer(session);
  const answers: string[] = [];
  const collected = collect(peer, answers).catch((error: unknown) => error);
  const nonces: string[] = [];
  for (const { from, message } of recorded(name)) {
    if (from !== consul) continue;
    if (message.Payload.case === 'response') nonces.push(message.Payload.value.Nonce);
    peer.send(message);
    // Lets the session answer before the next message, as in the recording.
    await clock.run(0);
  }
  const end = await session.ended;
  await collected;
  return { end, nonces, answers, session, imported, reports: source.reports };
}

function openOf(lines: readonly RecordedMessage[]): ReplicationMessage_Open {
  const payload = lines[0]?.message.Payload;
  assert.ok(payload?.case === 'open');
  return payload.value;
}

for (const name of ['peer-accepts', 'peer-dials']) {
  suite(`messages of the recording ${name}`, () => {
    test('are decoded, with their resources [STREAM-14]', () => {
      for (const { kind, bytes, message } of recorded(name)) {
        assert.equal(message.Payload.case, kind);
        assert.ok(messageBytes(message) >= bytes.length);
        const received = readMessage(message);
        assert.ok(!['unknown-received', 'invalid-message-received', 'bad-response-received'].includes(received.type));
        if (received.type === 'response-received') assert.ok(decodeResource(received.response));
      }
    });

    test('are decoded the same when they contain an unknown field [STREAM-3]', () => {
      for (const { bytes, message } of recorded(name)) {
        // Field 1000 with the varint 7.
        const extended = fromBinary(ReplicationMessageSchema, Buffer.concat([bytes, Buffer.from([0xc0, 0x3e, 0x07])]));
        assert.equal(extended.$unknown?.length, 1);
        assert.deepEqual(extended.Payload, message.Payload);
      }
    });
  });
}

test('a session that dials Consul answers each nonce once and imports the last exports [STREAM-40] [STREAM-1]', async () => {
  const lines = recorded('peer-accepts');
  const { end, nonces, answers, session, imported, reports } = await replay('peer-accepts', 'acceptor', openOf(lines));
  assert.equal(nonces.length, 8);
  assert.deepEqual([...answers].sort(), nonces);
  assert.deepEqual(imported.table(), {
    web: ['web-2 at 192.0.2.7:8081 critical', 'web-3 at 10.0.0.3:8082 no checks'],
  });
  assert.deepEqual([...imported.otherKinds].sort(), ['roots', 'server-addresses']);
  assert.deepEqual([...reports].sort(), ['billing acknowledged', 'exported-service-list acknowledged']);
  assert.deepEqual(session.counters, { nacksSent: 0, nacksReceived: 0, protocolErrors: 0, unknownMessages: 0 });
  assert.deepEqual(end, { kind: 'terminated-by-peer' });
});

test('a session that accepts Consul answers each nonce once and imports the last exports [STREAM-40] [STREAM-1]', async () => {
  const lines = recorded('peer-dials');
  const { end, nonces, answers, session, imported, reports } = await replay('peer-dials', 'dialer', openOf(lines));
  assert.equal(nonces.length, 4);
  assert.deepEqual([...answers].sort(), nonces);
  assert.deepEqual(imported.table(), { api: ['api-1 at 10.1.0.1:9000 passing'] });
  assert.deepEqual([...imported.otherKinds], ['roots']);
  assert.equal(reports.length, 3);
  assert.deepEqual(session.counters, { nacksSent: 0, nacksReceived: 0, protocolErrors: 0, unknownMessages: 0 });
  assert.deepEqual(end, { kind: 'terminated-by-peer' });
});
