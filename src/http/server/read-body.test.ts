import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { type Admission, textAnswer } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { ServiceError } from '../errors.ts';
import { UNAUTHENTICATED_BODY_BYTES_MAX } from '../limits.ts';
import { limits, readAll, startTestServer } from './test-server.suite.ts';

const MIB = 1024 * 1024;

const echo: Endpoint = {
  method: 'PUT',
  path: '/v1/length',
  summary: 'Returns the length of the body',
  handle: async ({ body }) => textAnswer(200, String(body.length)),
};

/** Knows every token but `unknown`. */
const admission: Admission = {
  admit: () => ({ headers: [], secretHash: undefined }),
  bodyOwner({ request }) {
    const token = request.headers['x-service-token'];
    return token === 'unknown'
      ? { caller: undefined, refusal: new ServiceError('permission-denied', 'ACL not found') }
      : { caller: String(token), isOperator: token === 'operator' };
  },
};

/** Starts a server on which an address may hold 8 MiB of bodies, and a caller 4 MiB. */
async function open(endpoint = echo) {
  const bodyLimits = { ...limits, body: 4 * MIB, bulkBody: 4 * MIB, bodies: 16 * MIB };
  const server = await startTestServer([], { limits: bodyLimits });
  server.http.admitWith('/v1/', admission);
  server.http.add(endpoint);
  const budget = server.http.budgets.find(({ name }) => name === 'request-bodies');
  return {
    server,
    used: () => budget?.measure()[0]?.used,
    refused: (bound: string) => budget?.refused.get(bound),
    /** Sends all of a body but its last byte, and resolves when the server has it. */
    async hold(token: string, bytes: number): Promise<Socket> {
      const before = budget?.measure()[0]?.used ?? 0;
      const socket = await server.connect();
      socket.write(`PUT /v1/length HTTP/1.1\r\nHost: a\r\nX-Service-Token: ${token}\r\n`);
      socket.write(`Connection: close\r\nContent-Length: ${bytes}\r\n\r\n`);
      socket.write(Buffer.alloc(bytes - 1));
      await until('the body is held', () => budget?.measure()[0]?.used === before + bytes - 1);
      return socket;
    },
    put: (token: string, body: Buffer) =>
      server.request('/v1/length', { method: 'PUT', headers: { 'x-service-token': token }, body }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe('the budget of bodies', () => {
  it('bounds the bytes of one caller and of one address, and discards the rest [SRV-119]', async () => {
    await using f = await open();
    const held = [await f.hold('one', 3 * MIB)];
    const own = await f.put('one', Buffer.alloc(2 * MIB));
    assert.deepEqual([own.status, own.headers['retry-after'], f.refused('caller')], [429, '1', 1]);
    assert.match(own.text, /of this caller have 4194304 bytes already \(a share of limits.bodies\)/);
    assert.equal((await f.put('two', Buffer.alloc(2 * MIB))).text, String(2 * MIB));
    held.push(await f.hold('two', 3 * MIB));
    const far = await f.put('three', Buffer.alloc(3 * MIB));
    assert.deepEqual([far.status, f.refused('address')], [429, 1]);
    assert.match(far.text, /of this address have 8388608 bytes already/);
    for (const socket of held) {
      const answer = readAll(socket);
      socket.write('x');
      assert.match(await answer, /200 OK[\s\S]*3145728$/);
    }
    assert.equal(f.used(), 0);
  });

  it('holds the bytes until the request is answered, and frees those of a client that disconnects', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using f = await open({
      ...echo,
      handle: async ({ body }) => {
        await promise;
        return textAnswer(200, String(body.length));
      },
    });
    const answer = f.put('one', Buffer.alloc(1_000));
    await until('the body is complete', () => f.used() === 1_000);
    const socket = await f.hold('one', 2_000);
    assert.equal(f.used(), 2_999);
    socket.destroy();
    await until('the body is freed', () => f.used() === 1_000);
    resolve();
    assert.equal((await answer).text, '1000');
    await until('the budget is empty', () => f.used() === 0);
  });

  it('refuses a large body without a valid token before it is read [SRV-119]', async () => {
    await using f = await open();
    const small = await f.put('unknown', Buffer.alloc(UNAUTHENTICATED_BODY_BYTES_MAX));
    assert.equal(small.text, String(UNAUTHENTICATED_BODY_BYTES_MAX));
    const large = await f.put('unknown', Buffer.alloc(UNAUTHENTICATED_BODY_BYTES_MAX + 1));
    assert.deepEqual([large.status, large.text], [403, 'ACL not found']);
    const chunk = `${'x'.repeat(10_000)}\r\n`;
    const chunked = await f.server.raw(
      `PUT /v1/length HTTP/1.1\r\nHost: a\r\nX-Service-Token: unknown\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${`2710\r\n${chunk}`.repeat(2)}0\r\n\r\n`,
    );
    assert.match(chunked, /403 Forbidden[\s\S]*ACL not found$/);
    assert.equal(f.used(), 0);
  });

  it('asks for a body with 100 Continue only after the headers were accepted [SRV-119]', async () => {
    await using f = await open();
    const head = 'PUT /v1/length HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n';
    const refused = await f.server.raw(`${head}X-Service-Token: unknown\r\nContent-Length: 100000\r\n\r\n`);
    assert.match(refused, /^HTTP\/1.1 403 /);
    const accepted = await f.server.raw(`${head}X-Service-Token: one\r\nContent-Length: 2\r\n\r\nxx`);
    assert.match(accepted, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
  });

  it('keeps a body that arrives in many chunks whole, and in one buffer', async () => {
    let received: Buffer = Buffer.alloc(0);
    await using f = await open({
      ...echo,
      handle: async ({ body }) => {
        received = body;
        return textAnswer(200, '');
      },
    });
    const text = 'abcdefghijklmnopqrstuvwxyz'.repeat(400);
    const chunks = [...text].map((letter) => `1\r\n${letter}\r\n`).join('');
    const got = await f.server.raw(
      `PUT /v1/length HTTP/1.1\r\nHost: a\r\nX-Service-Token: one\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
    );
    assert.match(got, /200 OK/);
    assert.equal(received.toString(), text);
    assert.ok(received.buffer.byteLength <= 2 * text.length);
  });
});

describe('repeated headers', () => {
  for (const name of ['Host', 'Authorization', 'Content-Type']) {
    it(`rejects a request with two ${name} headers [SRV-118]`, async () => {
      await using f = await open();
      const got = await f.server.raw(
        `PUT /v1/length HTTP/1.1\r\nHost: a\r\n${name}: a\r\n${name.toLowerCase()}: a\r\nConnection: close\r\n\r\n`,
      );
      assert.match(got, new RegExp(`^HTTP/1.1 400 [\\s\\S]*The request has more than one ${name}`, 'i'));
    });
  }
});
