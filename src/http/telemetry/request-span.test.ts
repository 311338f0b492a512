import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { startTraces, type Traces, textOf } from '../../../test/support/process/traces.ts';
import { until } from '../../../test/support/until.ts';
import { type Answer, type Call, textAnswer } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { ServiceError } from '../errors.ts';
import { startTestServer } from '../server/test-server.suite.ts';
import { streamAnswer } from '../stream-answer.ts';
import { startSpan, traced } from './tracing.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';

const thing = (handle: Endpoint['handle'], method: Endpoint['method'] = 'GET'): Endpoint => ({
  method,
  path: '/v1/thing/:name',
  summary: 'A thing',
  handle,
});
const fine = (): Answer => textAnswer(200, 'fine');

describe('request span', () => {
  let traces: Traces;
  beforeEach(() => {
    traces = startTraces();
  });
  afterEach(() => traces[Symbol.dispose]());

  const requestSpan = () => traces.untilSpan('the span of the request', ({ kind }) => kind === SpanKind.SERVER);

  it('contains the method, the route and the status', async () => {
    await using server = await startTestServer([thing(fine)]);
    await server.request('/v1/thing/x?y=z', { headers: { 'x-request-id': 'mine' } });
    const { name, attributes, status, parentSpanContext } = await requestSpan();
    assert.equal(name, 'GET /v1/thing/:name');
    assert.deepEqual(attributes, {
      'http.request.method': 'GET',
      'http.route': '/v1/thing/:name',
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'network.protocol.version': '1.1',
      'client.address': '127.0.0.1',
      'accord.request.id': 'mine',
    });
    assert.deepEqual([status.code, parentSpanContext], [SpanStatusCode.UNSET, undefined]);
  });

  it('continues the trace in traceparent [SRV-78]', async () => {
    await using server = await startTestServer([thing(fine)]);
    const headers = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` };
    await server.request('/v1/thing/x', { headers });
    const span = await requestSpan();
    assert.deepEqual([span.spanContext().traceId, span.parentSpanContext?.spanId], [TRACE_ID, PARENT_ID]);
  });

  it('starts a new trace when traceparent is invalid', async () => {
    await using server = await startTestServer([thing(fine)]);
    await server.request('/v1/thing/x', { headers: { traceparent: `00-${TRACE_ID}-0-01` } });
    const span = await requestSpan();
    assert.notEqual(span.spanContext().traceId, TRACE_ID);
    assert.equal(span.parentSpanContext, undefined);
  });

  it('is the parent of spans that the endpoint starts, synchronously or later, with or without a body', async () => {
    const handle = async (): Promise<Answer> => {
      startSpan({ name: 'at once', kind: SpanKind.INTERNAL })?.end();
      await new Promise((resolve) => setImmediate(resolve));
      return await traced({ name: 'later', kind: SpanKind.INTERNAL }, async () => fine());
    };
    await using server = await startTestServer([thing(handle), thing(handle, 'PUT')]);
    for (const method of ['GET', 'PUT']) {
      await server.request('/v1/thing/x', { method, body: method === 'PUT' ? 'given' : '' });
      const parent = await traces.untilSpan(`the span of ${method}`, ({ name }) => name.startsWith(method));
      const children = traces.spans.filter(
        ({ parentSpanContext }) => parentSpanContext?.spanId === parent.spanContext().spanId,
      );
      assert.deepEqual(
        children.map(({ name }) => name),
        ['at once', 'later'],
      );
    }
  });

  it('has the error status and the exception for an internal error', async () => {
    const handle = (): never => {
      throw new TypeError('x is not a function');
    };
    await using server = await startTestServer([thing(handle)]);
    await server.request('/v1/thing/x');
    const { status, attributes, events } = await requestSpan();
    assert.deepEqual([status.code, attributes['error.type']], [SpanStatusCode.ERROR, '500']);
    assert.deepEqual(
      events.map(({ name, attributes: given }) => [name, given?.['exception.type'], given?.['exception.message']]),
      [['exception', 'TypeError', 'x is not a function']],
    );
  });

  it('has no error status for a 4xx response', async () => {
    const handle = (): never => {
      throw new ServiceError('not-found', 'no such thing');
    };
    await using server = await startTestServer([thing(handle)]);
    await server.request('/v1/thing/x');
    const { status, attributes, events } = await requestSpan();
    assert.deepEqual([status.code, attributes['http.response.status_code'], events], [SpanStatusCode.UNSET, 404, []]);
  });

  it('has only the method as its name when no endpoint matches, and _OTHER for unknown methods', async () => {
    await using server = await startTestServer([thing(fine)]);
    await server.request('/private/path');
    await server.request('/private/path', { method: 'PROPFIND' });
    await server.request('/%zz');
    await until('three spans have ended', () => traces.spans.length === 3);
    assert.deepEqual(
      traces.spans.map(({ name, attributes }) => [
        name,
        attributes['http.request.method'],
        attributes['http.response.status_code'],
      ]),
      [
        ['GET', 'GET', 404],
        ['HTTP', '_OTHER', 404],
        ['GET', 'GET', 400],
      ],
    );
  });

  it('ends when the client disconnects, and at the end of a streamed response', async () => {
    const calls: Call[] = [];
    const held = thing((call) => void calls.push(call));
    async function* chunks(): AsyncGenerator<string> {
      yield 'one';
      yield 'two';
    }
    const streamed: Endpoint = {
      ...held,
      path: '/v1/stream',
      handle: (call) => void streamAnswer(call, 'text/plain', chunks),
    };
    await using server = await startTestServer([held, streamed]);
    const leaving = new AbortController();
    const left = server.request('/v1/thing/x', { signal: leaving.signal }).catch(() => undefined);
    await until('the request is held', () => calls.length === 1);
    leaving.abort();
    await left;
    const abandoned = await requestSpan();
    assert.equal(abandoned.attributes['accord.request.abandoned'], true);
    assert.equal(abandoned.attributes['http.response.status_code'], undefined);
    await server.request('/v1/stream');
    const { attributes } = await traces.untilSpan('the streamed one', ({ name }) => name === 'GET /v1/stream');
    assert.deepEqual(
      [attributes['http.response.status_code'], attributes['accord.request.abandoned']],
      [200, undefined],
    );
  });

  it('contains no path, query, header or body of the request [SRV-78]', async () => {
    await using server = await startTestServer([thing(fine), thing(fine, 'PUT')]);
    const headers = { 'x-service-token': 'secret-1', authorization: 'Bearer secret-2', cookie: 'secret-3' };
    await server.request('/v1/thing/secret-4?token=secret-5', { method: 'PUT', headers, body: 'secret-6' });
    await server.request('/v1/nothing/secret-7');
    await until('both spans have ended', () => traces.spans.length === 2);
    assert.doesNotMatch(textOf(traces.spans), /secret/);
  });
});

describe('tracing without an SDK', () => {
  it('creates no span for a request [SRV-78]', async () => {
    assert.equal(startSpan({ name: 'x', kind: SpanKind.INTERNAL }), undefined);
    const spans: unknown[] = [];
    const handle = (call: Call): Answer => {
      spans.push(call.span, trace.getActiveSpan());
      return fine();
    };
    await using server = await startTestServer([thing(handle)]);
    assert.equal((await server.request('/v1/thing/x')).text, 'fine');
    assert.deepEqual(spans, [undefined, undefined]);
  });

  it('runs the work of traced, and rejects with its error', async () => {
    assert.equal(await traced({ name: 'x', kind: SpanKind.INTERNAL }, async (span) => span ?? 'done'), 'done');
    const fails = traced({ name: 'x', kind: SpanKind.INTERNAL }, () => Promise.reject(new Error('no')));
    await assert.rejects(fails, /^Error: no$/);
  });
});
