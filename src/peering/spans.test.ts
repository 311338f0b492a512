/** The traces of two clusters in one process that peer over sockets. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { healthOf, mustRegister } from '../../test/support/peering/catalog-requests.ts';
import {
  encodeContent,
  mustGenerate,
  mustReadRecord,
  requestEstablish,
  tokenContent,
} from '../../test/support/peering/peering-requests.ts';
import { dialRaw } from '../../test/support/peering/raw-peer.ts';
import { startPeeringService } from '../../test/support/peering/start-peering-service.ts';
import { type Api, type ApiSettings, startApi } from '../../test/support/process/api.ts';
import { startTraces, type Traces, textOf } from '../../test/support/process/traces.ts';
import { until } from '../../test/support/until.ts';
import { type Clock, systemClock } from '../state/clock/clock.ts';
import { READABLE_AFTER_DELETION_MS } from './limits.ts';
import { links, streamSecretContext } from './record/secrets.ts';
import { createDeniedNetworks } from './stream/dialing/denied-networks.ts';
import { createExchange } from './stream/dialing/exchange.ts';
import { peerConnections } from './stream/dialing/peer-connection.ts';

const SERVICE = 'hashicorp.consul.internal.peerstream.PeerStreamService';
const SESSIONS = { heartbeatIntervalMs: 1_000, heartbeatTimeoutMs: 60_000, handshakeTimeoutMs: 20_000 };

interface Cluster {
  readonly api: Api;
  /** The log lines about peers. */
  readonly lines: readonly string[];
}

/** Starts a cluster whose streams use sockets. */
async function startPeers(stack: AsyncDisposableStack, { clock = systemClock }: Pick<ApiSettings, 'clock'> = {}) {
  let address = '';
  const exchange = createExchange(peerConnections('1.13.0', createDeniedNetworks([])), clock);
  const api = stack.use(await startApi({ clock, peering: { exchange, addresses: () => [address] } }));
  const lines: string[] = [];
  const running = stack.use(await startPeeringService(api, lines, { clock, sessions: SESSIONS }));
  address = running.address;
  return { api, lines };
}

const isActive = async ({ api }: Cluster, name: string): Promise<boolean> =>
  (await mustReadRecord(api, name)).State === 'ACTIVE';

const isOf = (kind: SpanKind, name: string, peering: string) => (span: ReadableSpan) =>
  span.kind === kind && span.name === name && span.attributes['accord.peering.name'] === peering;

/** Finds a span by the peering that it names. */
const callOf = (traces: Traces, kind: SpanKind, method: string, peering: string): Promise<ReadableSpan> =>
  traces.untilSpan(`${method} of ${peering}`, isOf(kind, `${SERVICE}/${method}`, peering));

describe('the spans of a peering', { timeout: 120_000 }, () => {
  test('cover the lifecycle of the peering, contain its name and contain no secret', async () => {
    using traces = startTraces();
    await using stack = new AsyncDisposableStack();
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    const accepting = await startPeers(stack);
    const dialing = await startPeers(stack, { clock });
    const token = await mustGenerate(accepting.api, 'west', { Meta: { note: 'private-meta' } });
    assert.equal((await requestEstablish(dialing.api, 'east', token)).status, 200);
    await until('both are ACTIVE', async () => (await isActive(accepting, 'west')) && isActive(dialing, 'east'));

    const request = await traces.untilSpan('establish', ({ name }) => name === 'POST /v1/peering/establish');
    const exchange = await callOf(traces, SpanKind.CLIENT, 'ExchangeSecret', 'east');
    assert.equal(exchange.parentSpanContext?.spanId, request.spanContext().spanId);
    const served = await callOf(traces, SpanKind.SERVER, 'ExchangeSecret', 'west');
    const dialed = await callOf(traces, SpanKind.CLIENT, 'StreamResources', 'east');
    const accepted = await callOf(traces, SpanKind.SERVER, 'StreamResources', 'west');
    for (const span of [served, dialed, accepted]) assert.equal(span.parentSpanContext, undefined, span.name);
    for (const { attributes, status } of [exchange, served, dialed, accepted]) {
      assert.deepEqual([attributes['accord.peering.partition'], status.code], ['default', SpanStatusCode.UNSET]);
    }
    assert.deepEqual(
      [dialed.attributes['server.address'], dialed.attributes['rpc.system.name'], dialed.attributes['rpc.method']],
      ['127.0.0.1', 'grpc', `${SERVICE}/StreamResources`],
    );

    await mustRegister(accepting.api);
    const Services = [{ Name: 'web', Consumers: [{ Peer: 'west' }] }];
    const entry = { Kind: 'exported-services', Name: 'default', Services };
    assert.equal((await accepting.api.request('PUT', '/v1/config', { body: entry })).status, 200);
    await until('it is imported', async () => (await healthOf(dialing.api, 'web', '?peer=east')).length === 1);
    const imported = await traces.untilSpan('imports', isOf(SpanKind.INTERNAL, 'accord.peering.import', 'east'));
    assert.ok(Number(imported.attributes['accord.import.resources']) > 0);
    assert.equal(imported.attributes['accord.import.failed'], 0);

    const { ID } = await mustReadRecord(dialing.api, 'east');
    const link = dialing.api.state.snapshot.get(links, ID)?.row;
    assert.ok(link !== undefined);
    const streamSecret = dialing.api.peering.secrets.decrypt(link.secret, streamSecretContext(ID));
    assert.equal((await dialing.api.request('DELETE', '/v1/peering/east')).status, 200);
    await traces.untilSpan('clearing', isOf(SpanKind.INTERNAL, 'accord.peering.clear', 'east'));
    aheadMs = READABLE_AFTER_DELETION_MS;
    await traces.untilSpan('removal', isOf(SpanKind.INTERNAL, 'accord.peering.remove', 'east'));
    await until(
      'the other side knows',
      async () => (await mustReadRecord(accepting.api, 'west')).State === 'TERMINATED',
    );

    const text = textOf(traces.spans);
    const secrets = {
      token,
      establishment: tokenContent(token).EstablishmentSecret,
      stream: streamSecret,
      meta: 'private-',
    };
    for (const [what, secret] of Object.entries({ ...secrets, acl: dialing.api.token, other: accepting.api.token })) {
      assert.ok(!text.includes(secret), what);
    }
    assert.doesNotMatch(text, /PRIVATE KEY|BEGIN CERTIFICATE/);
  });

  test('record failures: no answer, a rejected secret and a rejected stream', async () => {
    using traces = startTraces();
    await using stack = new AsyncDisposableStack();
    const accepting = await startPeers(stack);
    const dialing = await startPeers(stack);
    const token = tokenContent(await mustGenerate(accepting.api, 'west'));
    const nowhere = encodeContent({ ...token, ServerAddresses: ['127.0.0.1:1'] });
    assert.equal((await requestEstablish(dialing.api, 'nowhere', nowhere)).status, 503);
    const unanswered = await callOf(traces, SpanKind.CLIENT, 'ExchangeSecret', 'nowhere');
    assert.deepEqual(
      [unanswered.status.code, unanswered.attributes['server.port'], unanswered.events[0]?.name],
      [SpanStatusCode.ERROR, 1, 'exception'],
    );
    const request = await traces.untilSpan('establish', ({ name }) => name === 'POST /v1/peering/establish');
    assert.deepEqual([request.status.code, request.attributes['error.type']], [SpanStatusCode.ERROR, '503']);

    const EstablishmentSecret = '00000000-0000-4000-8000-000000000000';
    assert.equal(
      (await requestEstablish(dialing.api, 'spent', encodeContent({ ...token, EstablishmentSecret }))).status,
      403,
    );
    const refused = await callOf(traces, SpanKind.CLIENT, 'ExchangeSecret', 'spent');
    assert.equal(refused.status.code, SpanStatusCode.ERROR);
    const told = await callOf(traces, SpanKind.SERVER, 'ExchangeSecret', 'west');
    // An error of the caller does not fail the server span.
    assert.deepEqual(
      [told.attributes['rpc.status_code'], told.status.code],
      ['PERMISSION_DENIED', SpanStatusCode.UNSET],
    );

    using dialer = await dialRaw(token.ServerAddresses[0] ?? '');
    dialer.call().send({ open: { PeerID: token.PeerID, StreamSecretID: EstablishmentSecret } });
    const opening = await callOf(traces, SpanKind.SERVER, 'StreamResources', 'west');
    assert.equal(opening.attributes['rpc.status_code'], 'PERMISSION_DENIED');
    assert.ok(!textOf(traces.spans).includes(EstablishmentSecret));
  });

  test('fail for a stream that no server accepts', async () => {
    using traces = startTraces();
    await using stack = new AsyncDisposableStack();
    const dialing = await startPeers(stack);
    {
      await using gone = new AsyncDisposableStack();
      const accepting = await startPeers(gone);
      assert.equal(
        (await requestEstablish(dialing.api, 'east', await mustGenerate(accepting.api, 'west'))).status,
        200,
      );
      await until('it is ACTIVE', () => isActive(dialing, 'east'));
    }
    const isAttempt = isOf(SpanKind.CLIENT, `${SERVICE}/StreamResources`, 'east');
    const failed = await traces.untilSpan(
      'an attempt in vain',
      (span) => isAttempt(span) && span.status.code === SpanStatusCode.ERROR,
    );
    assert.equal(failed.attributes['error.type'], 'transport-failed');
  });

  test('have log lines with the same name in the field peering', async () => {
    await using stack = new AsyncDisposableStack();
    const accepting = await startPeers(stack);
    const dialing = await startPeers(stack);
    assert.equal((await requestEstablish(dialing.api, 'east', await mustGenerate(accepting.api, 'west'))).status, 200);
    await until('both are ACTIVE', async () => (await isActive(accepting, 'west')) && isActive(dialing, 'east'));
    await dialing.api.request('DELETE', '/v1/peering/east');
    for (const [{ lines }, name] of [
      [accepting, 'west'],
      [dialing, 'east'],
    ] as const) {
      const ofStreams = (): readonly string[] => lines.filter((line) => /"msg":"stream (opened|closed)"/.test(line));
      await until('the stream is closed', () => ofStreams().some((line) => line.includes('stream closed')));
      for (const line of ofStreams()) assert.equal((JSON.parse(line) as { peering: string }).peering, name);
    }
  });
});
