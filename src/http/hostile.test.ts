import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Type } from 'typebox';
import { until } from '../../test/support/until.ts';
import { type Answer, emptyAnswer, textAnswer } from './answer.ts';
import { callerSignal } from './call.ts';
import type { Endpoint } from './endpoint.ts';
import { openEdge, readAll } from './server/edge.suite.ts';
import { PATIENCE } from './server/node-server.ts';
import { parseBody } from './v1/parse-body.ts';

const hello: Endpoint = {
  method: 'GET',
  path: '/v1/hello',
  summary: 'Says hello',
  handle: () => textAnswer(200, 'hello'),
};
const put: Endpoint = { method: 'PUT', path: '/v1/put', summary: 'Takes', handle: async () => emptyAnswer };
const HASTY = { headersMs: 100, requestMs: 200, checkMs: 50, unreadMs: 100 };

describe('what is not a request', () => {
  const cases: [string, string, string | RegExp][] = [
    ['garbage', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', /^HTTP\/1.1 400 /],
    ['a broken request line', 'GET\r\n\r\n', /^HTTP\/1.1 400 /],
    ['an unknown method', 'FROBNICATE / HTTP/1.1\r\nHost: a\r\n\r\n', /^HTTP\/1.1 400 /],
    ['no Host', 'GET /v1/hello HTTP/1.1\r\nConnection: close\r\n\r\n', /^HTTP\/1.1 400 .*X-Request-Id: test-/s],
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
    ['huge headers', `GET /v1/hello HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, /^HTTP\/1.1 431 /],
    ['a huge URL', `GET /v1/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, /^HTTP\/1.1 431 /],
    ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nHost: a\r\n\r\n', ''],
  ];
  for (const [name, bytes, expected] of cases) {
    it(`is refused: ${name}`, async () => {
      await using edge = await openEdge([hello, put]);
      const got = await edge.raw(Buffer.from(bytes, 'latin1'));
      if (typeof expected === 'string') assert.equal(got, expected);
      else assert.match(got, expected);
      assert.equal((await edge.request('/v1/hello')).status, 200);
    });
  }

  it('is answered with a request id and a closed connection', async () => {
    await using edge = await openEdge([hello]);
    const got = await edge.raw('nonsense\r\n\r\n');
    assert.match(got, /\r\nConnection: close\r\n/);
    assert.match(got, /\r\nX-Request-Id: test-/);
    assert.match(got, /\r\n\r\nThe request is not valid HTTP$/);
  });

  it('closes slow senders: of headers, of bodies, of nothing', async () => {
    await using edge = await openEdge([hello, put], { patience: HASTY });
    const head = 'PUT /v1/put HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n';
    const [headers, body, nothing] = await Promise.all([edge.raw(head), edge.raw(`${head}\r\nabc`), edge.raw('')]);
    assert.match(headers, /^HTTP\/1.1 408 /);
    assert.match(nothing, /^(HTTP\/1.1 408 |$)/);
    // The request had begun to be handled: nobody can tell its answer from an error of the connection.
    assert.match(body, /^(HTTP\/1.1 408 |$)/);
  });

  it('closes clients that do not read a large answer', async () => {
    const large: Endpoint = { ...hello, handle: () => textAnswer(200, 'x'.repeat(20_000_000)) };
    // One that reads is served with the same patience: it must be more than a busy machine takes away at a time.
    await using edge = await openEdge([large], { patience: { ...PATIENCE, unreadMs: 1_000 } });
    const socket = await edge.connect();
    socket.on('error', () => undefined);
    socket.write('GET /v1/hello HTTP/1.1\r\nHost: a\r\n\r\n');
    await until('the connection is open', async () => (await edge.server.connectionCount()) === 1);
    await until('the connection is closed', async () => (await edge.server.connectionCount()) === 0);
    socket.destroy();
    assert.equal((await edge.request('/v1/hello')).text.length, 20_000_000);
  });

  it('closes connections beyond the limit', async () => {
    await using edge = await openEdge([hello], { limits: { connections: 2, body: 10, bulkBody: 10 } });
    const first = await edge.connect();
    const second = await edge.connect();
    assert.equal(await edge.raw('GET /v1/hello HTTP/1.1\r\nHost: a\r\n\r\n'), '');
    first.destroy();
    await until('a place is free', async () => (await edge.server.connectionCount()) < 2);
    assert.equal((await edge.request('/v1/hello')).status, 200);
    second.destroy();
  });
});

describe('odd but valid requests', () => {
  it('are answered in order when they come together', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const slow: Endpoint = { ...hello, path: '/v1/slow', handle: () => promise };
    const quick: Endpoint = {
      ...hello,
      handle() {
        resolve(textAnswer(200, 'slow'));
        return textAnswer(200, 'quick');
      },
    };
    await using edge = await openEdge([slow, quick]);
    const got = await edge.raw(
      'GET /v1/slow HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    assert.match(got, /slow[\s\S]*quick/);
  });

  it('are answered after a body that nobody asked for', async () => {
    await using edge = await openEdge([hello]);
    const one = 'GET /v1/hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde';
    const got = await edge.raw(`${one}${one.replace('Host: a', 'Host: a\r\nConnection: close')}`);
    assert.equal(got.match(/200 OK/g)?.length, 2);
  });

  it('are answered whatever they expect', async () => {
    await using edge = await openEdge([hello, put]);
    assert.equal((await edge.request('/v1/hello', { headers: { expect: 'wonders' } })).text, 'hello');
    const patient = await edge.raw(
      'PUT /v1/put HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx',
    );
    assert.match(patient, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
  });

  it('are answered in HTTP/1.0 and in absolute form', async () => {
    await using edge = await openEdge([hello]);
    assert.match(await edge.raw('GET /v1/hello HTTP/1.0\r\n\r\n'), /200 OK[\s\S]*hello$/);
    const absolute = 'GET http://somewhere/v1/hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    assert.match(await edge.raw(absolute), /200 OK[\s\S]*hello$/);
  });
});

describe('a client that leaves', () => {
  it('in the middle of its body costs nothing', async () => {
    await using edge = await openEdge([put, hello]);
    const socket = await edge.connect();
    socket.write('PUT /v1/put HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc');
    await until('the request has begun', async () => (await edge.server.connectionCount()) === 1);
    socket.destroy();
    await until('the connection is gone', async () => (await edge.server.connectionCount()) === 0);
    assert.equal((await edge.request('/v1/hello')).status, 200);
    assert.equal(edge.logged.filter(({ level }) => level === 'error').length, 0);
  });

  it('before its answer aborts the signal of its call; one that has its answer does not', async () => {
    const signals: AbortSignal[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow: Endpoint = {
      ...put,
      handle: async (call) => {
        signals.push(callerSignal(call));
        if (signals.length === 1) return emptyAnswer;
        await promise;
        return emptyAnswer;
      },
    };
    await using edge = await openEdge([slow]);
    await edge.request('/v1/put', { method: 'PUT' });
    const socket = await edge.connect();
    socket.write('PUT /v1/put HTTP/1.1\r\nHost: a\r\n\r\n');
    await until('the request is handled', () => signals.length === 2);
    const aborted = once(signals[1] as AbortSignal, 'abort');
    const closed = readAll(socket);
    socket.destroy();
    await aborted;
    assert.equal(signals[0]?.aborted, false);
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

  /** Near misses: right keys, wrong spelling, wrong types, broken text. */
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

  it('10,000 of them: 200 or 400, never more, and the server lives', async () => {
    await using edge = await openEdge([endpoint], { limits: { connections: 100, body: 1_000_000, bulkBody: 1 } });
    const statuses = new Map<number, number>();
    const bodies = fc.sample(body, { numRuns: 10_000, seed: 42 });
    const sender = async (): Promise<void> => {
      for (let given = bodies.pop(); given !== undefined; given = bodies.pop()) {
        const { status } = await edge.request('/v1/put', { method: 'PUT', body: given });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 16 }, sender));
    assert.deepEqual([...statuses.keys()].sort(), [200, 400]);
    assert.equal(edge.logged.filter(({ level }) => level === 'error').length, 0);
  });
});
