import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import { describe, it } from 'node:test';
import { systemClock } from '../../state/clock/clock.ts';
import { StateError, type StateErrorCode } from '../../state/errors.ts';
import { pathParameter, textAnswer } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { ServiceError, serviceErrorCodes, statusOf } from '../errors.ts';
import { createLog } from '../telemetry/log.ts';
import { createHttpServer } from './server.ts';
import { connect, limits, readAll, request, startTestServer, type TestServer } from './test-server.suite.ts';

const hello: Endpoint = {
  method: 'GET',
  path: '/v1/hello',
  summary: 'Says hello',
  handle: () => textAnswer(200, 'hello'),
};
const thing: Endpoint = {
  method: 'GET',
  path: '/v1/thing/:name',
  summary: 'Says the name',
  handle: (call) => textAnswer(200, pathParameter(call, 'name')),
};
const putThing: Endpoint = {
  method: 'PUT',
  path: '/v1/thing/:name',
  summary: 'Says the body',
  handle: async (call) => textAnswer(200, call.body.toString()),
};
const throwing = (error: unknown): Endpoint => ({
  method: 'GET',
  path: '/v1/throw',
  summary: 'Throws',
  handle: () => {
    throw error;
  },
});

describe('paths and methods', () => {
  it('routes by method and path, case-sensitively, and does not ignore extra slashes [V1-9]', async () => {
    await using server = await startTestServer([hello, thing, putThing]);
    assert.equal((await server.request('/v1/hello')).text, 'hello');
    assert.equal((await server.request('/v1/thing/a%2Fb%20c')).text, 'a/b c');
    assert.equal((await server.request('/v1/thing/x', { method: 'PUT', body: 'given' })).text, 'given');
    for (const path of ['/v1/Hello', '/v1/hello/', '//v1/hello', '/', '/v1', '/v1/thing/', '/v2/hello']) {
      const got = await server.request(path);
      assert.deepEqual([got.status, got.headers['content-type']], [404, 'text/plain; charset=utf-8'], path);
    }
  });

  it('passes long path parameters to the endpoint', async () => {
    await using server = await startTestServer([thing]);
    const name = 'n'.repeat(4_000);
    assert.equal((await server.request(`/v1/thing/${name}`)).text, name);
  });

  it('returns 405 with Allow for other methods, including uncommon ones [V1-8]', async () => {
    await using server = await startTestServer([hello, thing, putThing]);
    for (const method of ['POST', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND', 'QUERY']) {
      const got = await server.request('/v1/thing/x', { method });
      assert.deepEqual([got.status, got.headers.allow], [405, 'GET, PUT, HEAD, OPTIONS'], method);
    }
    const got = await server.request('/v1/hello', { method: 'POST', body: 'x'.repeat(5_000) });
    assert.deepEqual([got.status, got.text], [405, 'method POST not allowed']);
  });

  // Verifies [TEAM-26].
  it('serves HEAD wherever GET is served, with the same headers and no body [V1-6]', async () => {
    await using server = await startTestServer([hello, putThing]);
    const got = await server.request('/v1/hello', { method: 'HEAD' });
    assert.deepEqual([got.status, got.headers['content-length'], got.text], [200, '5', '']);
    assert.equal((await server.request('/v1/thing/x', { method: 'HEAD' })).status, 405);
    assert.equal((await server.request('/v1/nothing', { method: 'HEAD' })).status, 404);
  });

  // Verifies [TEAM-26].
  it('returns 200 with Allow for OPTIONS [SRV-62] [V1-7]', async () => {
    await using server = await startTestServer([hello]);
    const got = await server.request('/v1/hello', { method: 'OPTIONS' });
    assert.deepEqual([got.status, got.headers.allow, got.text], [200, 'GET, HEAD, OPTIONS', '']);
    assert.equal((await server.request('/v1/nothing', { method: 'OPTIONS' })).status, 404);
  });

  it('returns 400 for malformed paths [V1-10]', async () => {
    await using server = await startTestServer([thing]);
    for (const path of ['/v1/thing/%', '/v1/thing/%zz', '/v1/thing/%ff', '/v1/thing/a%00b', '/%e0%a4%a']) {
      assert.equal((await server.request(path)).status, 400, path);
    }
    for (const method of ['PUT', 'TRACE', 'OPTIONS']) {
      assert.equal((await server.request('/v1/thing/%zz', { method })).status, 400, `${method}, which has no endpoint`);
    }
  });

  it('lists its endpoints', async () => {
    await using server = await startTestServer([hello, thing]);
    assert.deepEqual(
      server.http.endpoints.map(({ method, path }) => `${method} ${path}`),
      ['GET /v1/hello', 'GET /v1/thing/:name'],
    );
  });
});

describe('the query string', () => {
  // Verifies [TEAM-23].
  it('rejects malformed encoding and NUL [V1-12]', async () => {
    await using server = await startTestServer([hello]);
    for (const query of ['a=%', '%=a', 'a=%ff', 'a=%00', '%00']) {
      assert.equal((await server.request(`/v1/hello?${query}`)).status, 400, query);
    }
  });

  // Verifies [TEAM-23].
  it('ignores unknown parameters, and uses the first of two values [V1-12] [V1-13] [V1-15]', async () => {
    const echo: Endpoint = { ...hello, handle: (call) => textAnswer(200, String(call.query.get('a'))) };
    await using server = await startTestServer([echo]);
    assert.equal((await server.request('/v1/hello?b=1&a=x+y%2B&a=2&&=&c')).text, 'x y+');
  });

  it('rejects secrets, and logs neither them nor unknown parameters [SRV-75] [V1-18]', async () => {
    await using server = await startTestServer([hello]);
    for (const name of ['token', 'Token', 'x-service-token', 'X-Consul-Token', 'access_token', 'toke%6e']) {
      const got = await server.request(`/v1/hello?a=1&${name}=s3cr3t-value`);
      assert.equal(got.status, 400, name);
      assert.doesNotMatch(got.text, /s3cr3t/);
    }
    await server.request('/v1/hello?other=s3cr3t-value&index=7');
    await server.request('/v1/s3cr3t-value', { headers: { 'x-service-token': 's3cr3t-value' } });
    const lines = JSON.stringify(server.logged);
    assert.doesNotMatch(lines, /s3cr3t/);
    assert.match(lines, /"query":"index=7"/);
  });
});

describe('request IDs', () => {
  it('repeats a valid X-Request-Id, and generates an ID otherwise [SRV-59]', async () => {
    await using server = await startTestServer([hello]);
    const first = (await server.request('/v1/hello')).headers['x-request-id'];
    const second = (await server.request('/v1/nothing')).headers['x-request-id'];
    assert.match(String(first), /^test-/);
    assert.notEqual(first, second);
    const given = { 'x-request-id': 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6' };
    assert.equal(
      (await server.request('/v1/hello', { headers: given })).headers['x-request-id'],
      given['x-request-id'],
    );
    for (const id of ['', 'a b', 'é', 'x'.repeat(65), '<script>']) {
      const got = await server.request('/v1/hello', {
        headers: { 'x-request-id': Buffer.from(id).toString('latin1') },
      });
      assert.match(String(got.headers['x-request-id']), /^test-/, id);
    }
  });

  it('logs a line for each request with its ID, route and status [SRV-75]', async () => {
    await using server = await startTestServer([thing]);
    const got = await server.request('/v1/thing/x?index=3');
    const line = server.logged.find(({ id }) => id === got.headers['x-request-id']);
    const { method, route, status, bytes, query } = line ?? {};
    assert.deepEqual(
      { method, route, status, bytes, query },
      { method: 'GET', route: '/v1/thing/:name', status: 200, bytes: 1, query: 'index=3' },
    );
  });
});

describe('origins', () => {
  it('rejects foreign origins, and accepts its own [SRV-60] [V1-55]', async () => {
    await using server = await startTestServer([hello]);
    for (const origin of ['http://evil.example', 'null', 'https://evil.example:8500', `http://127.0.0.1:1`]) {
      for (const path of ['/v1/hello', '/v1/nothing']) {
        assert.equal((await server.request(path, { headers: { origin } })).status, 403, `${origin} ${path}`);
      }
      assert.equal((await server.request('/v1/hello', { method: 'OPTIONS', headers: { origin } })).status, 403);
    }
    for (const origin of [`http://127.0.0.1:${server.port}`, `https://127.0.0.1:${server.port}`]) {
      assert.equal((await server.request('/v1/hello', { headers: { origin } })).status, 200, origin);
    }
  });

  const statusFor = async (server: TestServer, headers: OutgoingHttpHeaders): Promise<number> =>
    (await server.request('/v1/hello', { headers })).status;
  const LOCAL = ['127.0.0.1', '[::1]:8500', 'localhost', 'LocalHost.:8500', 'accord.localhost:8500', 'proxied.example'];
  const FOREIGN = ['evil.example:8500', 'evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '[evil]'];
  const allowedOrigins = ['https://proxied.example'];

  it('rejects requests with an Origin and a foreign Host on loopback, to prevent DNS rebinding [SRV-61] [V1-57]', async () => {
    await using server = await startTestServer([hello], { localNames: 'with-origin', allowedOrigins });
    for (const host of LOCAL) assert.equal(await statusFor(server, { host, origin: `http://${host}` }), 200, host);
    for (const host of FOREIGN) {
      assert.equal(await statusFor(server, { host, origin: `http://${host}` }), 403, host);
      assert.equal(await statusFor(server, { host }), 200, `${host} without Origin: a token is asked for`);
    }
    const { text } = await server.request('/v1/hello', {
      headers: { host: 'evil.example', origin: 'http://evil.example' },
    });
    assert.match(text, /^Permission denied: "evil\.example" is not a name of this server, which listens on loopback; /);
  });

  // Verifies [SRV-61].
  it('rejects every foreign Host on loopback without tokens, because a same-origin GET has no Origin [V1-57]', async () => {
    await using server = await startTestServer([hello], { localNames: 'always', allowedOrigins });
    for (const host of LOCAL) assert.equal(await statusFor(server, { host }), 200, host);
    for (const host of FOREIGN) assert.equal(await statusFor(server, { host }), 403, host);
    assert.match(await server.raw('GET /v1/hello HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /);
  });

  it('accepts any Host if the listener is not on loopback', async () => {
    await using server = await startTestServer([hello]);
    assert.equal(await statusFor(server, { host: 'accord.example', origin: 'http://accord.example' }), 200);
  });

  it('sends CORS headers to allowed origins, with errors and preflight responses too [SRV-62] [V1-56]', async () => {
    await using server = await startTestServer([hello], { allowedOrigins: ['https://Console.example'] });
    const headers = { origin: 'https://console.example' };
    for (const path of ['/v1/hello', '/v1/nothing']) {
      const got = await server.request(path, { headers });
      assert.equal(got.headers['access-control-allow-origin'], 'https://console.example');
      assert.deepEqual(String(got.headers['access-control-expose-headers']).split(', ').toSorted(), [
        ...['Retry-After', 'X-Request-Id', 'X-Service-Index', 'X-Service-KnownLeader', 'X-Service-LastContact'],
        'X-Service-Results-Filtered-By-ACLs',
      ]);
      assert.equal(got.headers.vary, 'Origin');
    }
    const preflight = await server.request('/v1/hello', { method: 'OPTIONS', headers });
    assert.equal(preflight.headers['access-control-allow-methods'], 'GET, HEAD, OPTIONS');
    assert.match(String(preflight.headers['access-control-allow-headers']), /X-Service-Token/);
  });
});

describe('errors', () => {
  const PROBLEM = { accept: 'text/html;q=0.5, application/problem+json' };

  for (const code of serviceErrorCodes) {
    it(`sends ${code} as text, or as a problem document if the client accepts it [V1-46] [V1-47]`, async () => {
      await using server = await startTestServer([
        throwing(new ServiceError(code, 'what is "wrong"', { retryAfterSeconds: 3 })),
      ]);
      const text = await server.request('/v1/throw');
      const problem = await server.request('/v1/throw', { headers: PROBLEM });
      const id = problem.headers['x-request-id'];
      const message = code === 'internal' ? `Internal error (request ${id})` : 'what is "wrong"';
      assert.equal(text.status, statusOf(code));
      assert.equal(text.headers['content-type'], 'text/plain; charset=utf-8');
      assert.equal(
        text.text,
        code === 'internal' ? `Internal error (request ${text.headers['x-request-id']})` : message,
      );
      assert.equal(text.headers['retry-after'], '3');
      assert.equal(problem.headers['content-type'], 'application/problem+json');
      const { title, ...rest } = JSON.parse(problem.text) as Record<string, unknown>;
      assert.equal(typeof title, 'string');
      assert.deepEqual(rest, { type: 'about:blank', status: statusOf(code), code, detail: message, requestId: id });
    });
  }

  it('sends plain text when Accept has only wildcards or other types', async () => {
    await using server = await startTestServer([hello]);
    for (const accept of ['*/*', 'application/*', 'application/json', 'application/problem+json;q=0']) {
      const got = await server.request('/v1/nothing', { headers: { accept } });
      assert.equal(got.headers['content-type'], 'text/plain; charset=utf-8', accept);
    }
  });

  const ofState: [StateErrorCode, number][] = [
    ['unavailable', 503],
    ['outcome-unknown', 503],
    ['overloaded', 503],
    ['full', 507],
    ['aborted', 503],
    ['too-large', 413],
    ['rows-max', 507],
    ['corrupt', 500],
    ['locked', 500],
    ['name-taken', 500],
    ['not-empty', 500],
    ['fell-behind', 500],
  ];
  for (const [code, status] of ofState) {
    it(`returns ${status} for the state error ${code} [STATE-54] [STATE-55]`, async () => {
      await using server = await startTestServer([
        throwing(new StateError(code, 'the store says', { retryAfterSeconds: 2 })),
      ]);
      const got = await server.request('/v1/throw');
      assert.deepEqual([got.status, got.headers['retry-after']], [status, '2']);
      if (status !== 500) assert.equal(got.text, 'the store says');
    });
  }

  it('sends only the request ID of an internal error, and logs the cause [SRV-76] [V1-49]', async () => {
    const async: Endpoint = { ...hello, path: '/v1/later', handle: () => Promise.reject(new Error('inner detail')) };
    await using server = await startTestServer([
      throwing(new Error('inner detail', { cause: new Error('deeper') })),
      async,
    ]);
    for (const path of ['/v1/throw', '/v1/later']) {
      const got = await server.request(path);
      assert.deepEqual([got.status, got.text], [500, `Internal error (request ${got.headers['x-request-id']})`]);
      const line = server.logged.find(({ level, id }) => level === 'error' && id === got.headers['x-request-id']);
      assert.match(JSON.stringify(line), /inner detail/);
    }
    assert.match(JSON.stringify(server.logged), /deeper/);
  });

  it('uses the error format of the service, even if no endpoint has the path [V1-9]', async () => {
    const errorRenderers = {
      '/api/v2/': (_: unknown, error: ServiceError) => textAnswer(error.status, `v2 ${error.code}`),
    };
    const other: Endpoint = { ...throwing(new ServiceError('conflict', 'x')), path: '/api/v2/throw' };
    await using server = await startTestServer([other, hello], { errorRenderers });
    assert.equal((await server.request('/api/v2/throw')).text, 'v2 conflict');
    assert.equal((await server.request('/api/v2/nothing')).text, 'v2 not-found');
    assert.equal((await server.request('/api/v2/%zz')).text, 'v2 bad-request');
    assert.equal((await server.request('/v1/nothing')).text, 'Nothing is served at "/v1/nothing"');
  });
});

describe('bodies', () => {
  const bulk: Endpoint = { ...putThing, path: '/v1/bulk', bulk: true };

  it('passes bodies to the endpoint unchanged, regardless of the content type [V1-20]', async () => {
    await using server = await startTestServer([putThing]);
    for (const type of ['application/x-www-form-urlencoded', 'nonsense', ';;;', 'application/json', '']) {
      const got = await server.request('/v1/thing/x', {
        method: 'PUT',
        body: '{"a":1}',
        headers: { 'content-type': type },
      });
      assert.deepEqual([got.status, got.text], [200, '{"a":1}'], type);
    }
    const chunked = await server.request('/v1/thing/x', {
      method: 'PUT',
      body: 'chunked',
      headers: { 'transfer-encoding': 'chunked' },
    });
    assert.equal(chunked.text, 'chunked');
    assert.equal((await server.request('/v1/thing/x', { method: 'PUT' })).text, '');
  });

  it('returns 413 past a limit, with and without Content-Length, and keeps the connection [SRV-58] [V1-21]', async () => {
    await using server = await startTestServer([putThing, bulk]);
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      for (const [path, bytes, text] of [
        ['/v1/thing/x', 1_025, 'The request body is larger than 1024 bytes (limits.body)'],
        ['/v1/bulk', 4_097, 'The request body is larger than 4096 bytes (limits.bulk-body)'],
        ['/v1/bulk', 1_000_000, 'The request body is larger than 4096 bytes (limits.bulk-body)'],
      ] as const) {
        const got = await server.request(path, { method: 'PUT', body: 'x'.repeat(bytes), headers });
        assert.deepEqual([got.status, got.text], [413, text]);
      }
    }
    assert.equal((await server.request('/v1/thing/x', { method: 'PUT', body: 'x'.repeat(1_024) })).status, 200);
    assert.equal((await server.request('/v1/bulk', { method: 'PUT', body: 'x'.repeat(4_096) })).status, 200);
  });
});

describe('createHttpServer', () => {
  it('serves only /healthz until it is open [SRV-63]', async () => {
    const log = createLog({ level: 'error', format: 'json' });
    const options = {
      host: '127.0.0.1',
      port: 0,
      allowedOrigins: [],
      limits,
      requestIdPrefix: 'x',
      clock: systemClock,
      log,
    };
    const server = createHttpServer(options);
    const { port } = await server.listen();
    const get = async (path: string) => await request({ port, path });
    assert.deepEqual([(await get('/healthz')).status, (await get('/healthz')).text], [200, 'ok']);
    for (const path of ['/readyz', '/v1/hello', '/', '/%zz']) {
      const got = await get(path);
      assert.deepEqual([got.status, got.headers['retry-after']], [503, '1'], path);
      assert.ok(got.headers['x-request-id']);
    }
    server.add(hello);
    await server.open();
    assert.equal((await get('/v1/hello')).text, 'hello');
    await server.stop(0);
  });

  it('rejects listen when the address is in use', async () => {
    await using server = await startTestServer([]);
    await assert.rejects(startTestServer([], { port: server.port }), { code: 'EADDRINUSE' });
  });

  // Verifies [SRV-79] [SRV-80].
  it('finishes requests in progress when it stops, closes idle connections, and accepts no new ones', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let begun = 0;
    const slow: Endpoint = {
      ...hello,
      handle: async () => {
        begun += 1;
        await promise;
        return textAnswer(200, 'late');
      },
    };
    await using server = await startTestServer([slow, thing]);
    const idle = await server.connect();
    const answered = once(idle, 'data');
    const idleText = readAll(idle);
    idle.write('GET /v1/thing/x HTTP/1.1\r\nHost: a\r\n\r\n');
    await answered;
    const unused = readAll(await server.connect());
    const pending = request({ port: server.port, path: '/v1/hello' });
    while (begun === 0) await new Promise((next) => setImmediate(next));
    const stopped = server.http.stop(10_000);
    assert.match(await idleText, /200 OK/);
    assert.equal(await unused, '');
    await assert.rejects(connect(server.port), { code: 'ECONNREFUSED' });
    resolve();
    const got = await pending;
    assert.deepEqual([got.status, got.text, got.headers.connection], [200, 'late', 'close']);
    await stopped;
  });

  it('closes the remaining connections after graceMs [SRV-80]', async () => {
    const begun = Promise.withResolvers<void>();
    const never: Endpoint = {
      ...hello,
      handle: () => {
        begun.resolve();
        return new Promise(() => undefined);
      },
    };
    await using server = await startTestServer([never]);
    const unused = readAll(await server.connect());
    const cut = assert.rejects(server.request('/v1/hello'), { code: 'ECONNRESET' });
    await begun.promise;
    await server.http.stop(50);
    await cut;
    assert.equal(await unused, '');
  });
});
