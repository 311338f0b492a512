import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Type } from 'typebox';
import { until } from '../../../test/support/until.ts';
import { type Answer, type Call, disconnectSignal, emptyAnswer, textAnswer } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { PIPELINED_REQUESTS_MAX } from '../limits.ts';
import { parseBody } from '../v1/parse-body.ts';
import { DEFAULT_TIMEOUTS } from './node-server.ts';
import { limits, readAll, startTestServer } from './test-server.suite.ts';

const hello: Endpoint = {
  method: 'GET',
  path: '/v1/hello',
  summary: 'Says hello',
  handle: () => textAnswer(200, 'hello'),
};
const put: Endpoint = { method: 'PUT', path: '/v1/put', summary: 'Takes', handle: async () => emptyAnswer };
const SHORT_TIMEOUTS = { headersMs: 100, requestMs: 200, checkMs: 50, writeStallMs: 100 };

describe('invalid and hostile requests', () => {
  const cases: [string, string, string | RegExp][] = [
    ['garbage', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', /^HTTP\/1.1 400 /],
    ['a broken request line', 'GET\r\n\r\n', /^HTTP\/1.1 400 /],
    ['an unknown method', 'FROBNICATE / HTTP/1.1\r\nHost: a\r\n\r\n', /^HTTP\/1.1 400 /],
    ['no Host', 'GET /v1/hello HTTP/1.1\r\nConnection: close\r\n\r\n', /^HTTP\/1.1 400 .*X-Request-Id: test-/s], // [V1-11]
    [
      'two framings',
      'PUT /v1/put HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1.1 400 /,
    ],
    [
      'two lengths',
      'PUT /v1/put HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd',
      /^HTTP\/1.1 400 /,
    ],
    ['a negative length', 'PUT /v1/put HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n', /^HTTP\/1.1 400 /],
    [
      'a chunk without a size',
      'PUT /v1/put HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
      /HTTP\/1.1 400 |^$/,
    ],
    ['a header with a line break in it', 'GET /v1/hello HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n', /^HTTP\/1.1 400 /],
    // [SRV-58]
    ['huge headers', `GET /v1/hello HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, /^HTTP\/1.1 431 /],
    ['a huge URL', `GET /v1/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, /^HTTP\/1.1 431 /],
    ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n', ''],
  ];
  for (const [name, bytes, expected] of cases) {
    it(`rejects ${name}`, async () => {
      await using server = await startTestServer([hello, put]);
      const got = await server.raw(Buffer.from(bytes, 'latin1'));
      if (typeof expected === 'string') assert.equal(got, expected);
      else assert.match(got, expected);
      assert.equal((await server.request('/v1/hello')).status, 200);
    });
  }

  it('sends a request ID with the error, and closes the connection [V1-54]', async () => {
    await using server = await startTestServer([hello]);
    const got = await server.raw('nonsense\r\n\r\n');
    assert.match(got, /\r\nConnection: close\r\n/);
    assert.match(got, /\r\nX-Request-Id: test-/);
    assert.match(got, /\r\n\r\nThe request is not valid HTTP$/);
  });

  it('closes connections that send headers, a body, or nothing too slowly [SRV-58]', async () => {
    await using server = await startTestServer([hello, put], { timeouts: SHORT_TIMEOUTS });
    const head = 'PUT /v1/put HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n';
    const [headers, body, nothing] = await Promise.all([
      server.raw(head),
      server.raw(`${head}\r\nabc`),
      server.raw(''),
    ]);
    assert.match(headers, /^HTTP\/1.1 408 /);
    assert.match(nothing, /^(HTTP\/1.1 408 |$)/);
    // No response if the endpoint has started, because the client could not tell an error from the response.
    assert.match(body, /^(HTTP\/1.1 408 |$)/);
  });

  it('closes clients that do not read a large response [SRV-58]', async () => {
    const large: Endpoint = { ...hello, handle: () => textAnswer(200, 'x'.repeat(20_000_000)) };
    // Long enough for a client that does read, even if the test machine is busy.
    await using server = await startTestServer([large], { timeouts: { ...DEFAULT_TIMEOUTS, writeStallMs: 1_000 } });
    const socket = await server.connect();
    socket.on('error', () => undefined);
    socket.write('GET /v1/hello HTTP/1.1\r\nHost: a\r\n\r\n');
    await until('the connection is open', async () => (await server.http.connectionCount()) === 1);
    await until('the connection is closed', async () => (await server.http.connectionCount()) === 0);
    socket.destroy();
    assert.equal((await server.request('/v1/hello')).text.length, 20_000_000);
  });

  it('closes connections beyond the limit [SRV-58]', async () => {
    await using server = await startTestServer([hello], { limits: { ...limits, connections: 2 } });
    const first = await server.connect();
    const second = await server.connect();
    assert.equal(await server.raw('GET /v1/hello HTTP/1.1\r\nHost: a\r\n\r\n'), '');
    first.destroy();
    await until('a connection is free', async () => (await server.http.connectionCount()) < 2);
    assert.equal((await server.request('/v1/hello')).status, 200);
    second.destroy();
  });
});

describe('the share of an address', () => {
  it('bounds its connections, and is free again when they close [SRV-58]', async () => {
    await using server = await startTestServer([hello], { limits: { ...limits, connectionsPerAddress: 2 } });
    const [first, second] = [await server.connect(), await server.connect()];
    assert.equal(await server.raw('GET /v1/hello HTTP/1.1\r\nHost: a\r\n\r\n'), '');
    const measured = server.http.budgets.find(({ name }) => name === 'connections');
    assert.equal(measured?.refused.get('address'), 1);
    first?.destroy();
    second?.destroy();
    await until('the connections are closed', () => measured?.measure()[0]?.used === 0);
    assert.equal((await server.request('/v1/hello')).status, 200);
  });
});

describe('unusual but valid requests', () => {
  it('starts pipelined requests one after another, and answers in order [SRV-120]', async () => {
    const started: string[] = [];
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const slow: Endpoint = {
      ...hello,
      path: '/v1/slow',
      handle() {
        started.push('slow');
        return promise;
      },
    };
    const quick: Endpoint = {
      ...hello,
      handle() {
        started.push('quick');
        return textAnswer(200, 'quick');
      },
    };
    await using server = await startTestServer([slow, quick]);
    const socket = await server.connect();
    const received = readAll(socket);
    const [one, two] = ['GET /v1/slow HTTP/1.1\r\nHost: a\r\n\r\n', 'GET /v1/hello HTTP/1.1\r\nHost: a\r\n\r\n'];
    socket.write(`${one}${two}${two.replace('Host: a', 'Host: a\r\nConnection: close')}`);
    await until('the first request is started', () => started.length > 0);
    await server.request('/v1/hello');
    assert.deepEqual(started, ['slow', 'quick']);
    resolve(textAnswer(200, 'slow'));
    assert.match(await received, /slow[\s\S]*quick[\s\S]*quick/);
    assert.deepEqual(started, ['slow', 'quick', 'quick', 'quick']);
  });

  it('closes a connection that sends too many requests ahead [SRV-120]', async () => {
    let startedCount = 0;
    const endless: Endpoint = {
      ...hello,
      path: '/v1/endless',
      handle() {
        startedCount += 1;
        return new Promise<Answer>(() => undefined);
      },
    };
    await using server = await startTestServer([endless, hello]);
    const one = 'GET /v1/endless HTTP/1.1\r\nHost: a\r\n\r\n';
    assert.equal(await server.raw(one.repeat(PIPELINED_REQUESTS_MAX + 2)), '');
    assert.equal(startedCount, 1);
    const measured = server.http.budgets.find(({ name }) => name === 'pipelined-requests');
    assert.equal(measured?.refused.get('connection'), 1);
    assert.equal((await server.request('/v1/hello')).status, 200);
  });

  it('skips the body of a GET request', async () => {
    await using server = await startTestServer([hello]);
    const one = 'GET /v1/hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde';
    const got = await server.raw(`${one}${one.replace('Host: a', 'Host: a\r\nConnection: close')}`);
    assert.equal(got.match(/200 OK/g)?.length, 2);
  });

  it('ignores an unknown Expect, and continues for 100-continue', async () => {
    await using server = await startTestServer([hello, put]);
    assert.equal((await server.request('/v1/hello', { headers: { expect: 'wonders' } })).text, 'hello');
    const continued = await server.raw(
      'PUT /v1/put HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx',
    );
    assert.match(continued, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
  });

  it('answers HTTP/1.0 and absolute-form requests', async () => {
    await using server = await startTestServer([hello]);
    assert.match(await server.raw('GET /v1/hello HTTP/1.0\r\n\r\n'), /200 OK[\s\S]*hello$/);
    const absolute = 'GET http://somewhere/v1/hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    assert.match(await server.raw(absolute), /200 OK[\s\S]*hello$/);
  });
});

describe('a client that disconnects', () => {
  it('leaves no connection and no error when it disconnects while it sends the body', async () => {
    await using server = await startTestServer([put, hello]);
    const socket = await server.connect();
    socket.write('PUT /v1/put HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc');
    await until('the request has begun', async () => (await server.http.connectionCount()) === 1);
    socket.destroy();
    await until('the connection is closed', async () => (await server.http.connectionCount()) === 0);
    assert.equal((await server.request('/v1/hello')).status, 200);
    assert.equal(server.logged.filter(({ level }) => level === 'error').length, 0);
  });

  it('aborts disconnectSignal before the response is sent, and not afterwards', async () => {
    const signals: AbortSignal[] = [];
    const calls: Call[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow: Endpoint = {
      ...put,
      handle: async (call) => {
        calls.push(call);
        signals.push(disconnectSignal(call));
        if (signals.length === 1) return emptyAnswer;
        await promise;
        return emptyAnswer;
      },
    };
    await using server = await startTestServer([slow]);
    await server.request('/v1/put', { method: 'PUT' });
    const socket = await server.connect();
    socket.write('PUT /v1/put HTTP/1.1\r\nHost: a\r\n\r\n');
    await until('the request is handled', () => signals.length === 2);
    const aborted = once(signals[1] as AbortSignal, 'abort');
    const closed = readAll(socket);
    socket.destroy();
    await aborted;
    assert.equal(signals[0]?.aborted, false);
    assert.equal(disconnectSignal(calls[0] as Call).aborted, false);
    assert.equal(disconnectSignal(calls[1] as Call).aborted, true, 'the response is closed already');
    resolve();
    assert.equal(await closed, '');
  });
});

describe('random bodies', () => {
  const schema = Type.Object(
    {
      Name: Type.Optional(Type.String({ maxLength: 20 })),
      Count: Type.Optional(Type.Integer({ minimum: 0 })),
      Meta: Type.Optional(Type.Record(Type.String(), Type.String())),
      Items: Type.Optional(Type.Array(Type.Object({ Kind: Type.Enum(['a', 'b']) }, { additionalProperties: false }))),
    },
    { additionalProperties: false },
  );
  const endpoint: Endpoint = {
    ...put,
    handle: async (call) => textAnswer(200, JSON.stringify(parseBody(schema, call.body))),
  };

  /** Bodies that are almost valid: correct and misspelled keys, wrong types, damaged text. */
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    fc
      .dictionary(
        fc.constantFrom('Name', 'name', 'Count', 'Meta', 'Items', '__proto__', 'constructor', 'Nam'),
        fc.jsonValue(),
      )
      .map((value) => Buffer.from(JSON.stringify(value))),
    fc
      .tuple(fc.json(), fc.nat(40), fc.constantFrom('"', '{', ']', '\\', '\0', '\uFEFF', 'é'))
      .map(([text, at, piece]) => Buffer.from(text.slice(0, at) + piece + text.slice(at))),
  );

  it('returns 200 or 400 for each of 10,000', async () => {
    await using server = await startTestServer([endpoint], {
      limits: { ...limits, body: 1_000_000, bodies: 10_000_000 },
    });
    const statuses = new Map<number, number>();
    const bodies = fc.sample(body, { numRuns: 10_000, seed: 42 });
    const sender = async (): Promise<void> => {
      for (let given = bodies.pop(); given !== undefined; given = bodies.pop()) {
        const { status } = await server.request('/v1/put', { method: 'PUT', body: given });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 16 }, sender));
    assert.deepEqual([...statuses.keys()].sort(), [200, 400]);
    assert.equal(server.logged.filter(({ level }) => level === 'error').length, 0);
  });
});
