import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import { describe, it } from 'node:test';
import { systemClock } from '../../state/clock/clock.ts';
import { StateError, type StateErrorCode } from '../../state/errors.ts';
import { textAnswer } from '../answer.ts';
import { pathParameter } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { ServiceError, serviceErrorCodes, statusOf } from '../errors.ts';
import { createLog } from '../telemetry/log.ts';
import { connect, type OpenEdge, openEdge, readAll, request } from './edge.suite.ts';
import { createHttpServer } from './server.ts';

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
  it('routes by path and method, case-sensitively, without forgiving slashes', async () => {
    await using edge = await openEdge([hello, thing, putThing]);
    assert.equal((await edge.request('/v1/hello')).text, 'hello');
    assert.equal((await edge.request('/v1/thing/a%2Fb%20c')).text, 'a/b c');
    assert.equal((await edge.request('/v1/thing/x', { method: 'PUT', body: 'given' })).text, 'given');
    for (const path of ['/v1/Hello', '/v1/hello/', '//v1/hello', '/', '/v1', '/v1/thing/', '/v2/hello']) {
      const got = await edge.request(path);
      assert.deepEqual([got.status, got.headers['content-type']], [404, 'text/plain; charset=utf-8'], path);
    }
  });

  it('lets long names through to the endpoint', async () => {
    await using edge = await openEdge([thing]);
    const name = 'n'.repeat(4_000);
    assert.equal((await edge.request(`/v1/thing/${name}`)).text, name);
  });

  it('answers a wrong method with 405 and Allow, unusual methods included', async () => {
    await using edge = await openEdge([hello, thing, putThing]);
    for (const method of ['POST', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND', 'QUERY']) {
      const got = await edge.request('/v1/thing/x', { method });
      assert.deepEqual([got.status, got.headers.allow], [405, 'GET, PUT, HEAD, OPTIONS'], method);
    }
    const got = await edge.request('/v1/hello', { method: 'POST', body: 'x'.repeat(5_000) });
    assert.deepEqual([got.status, got.text], [405, 'method POST not allowed']);
  });

  it('answers HEAD where GET is, with the same headers and no body', async () => {
    await using edge = await openEdge([hello, putThing]);
    const got = await edge.request('/v1/hello', { method: 'HEAD' });
    assert.deepEqual([got.status, got.headers['content-length'], got.text], [200, '5', '']);
    assert.equal((await edge.request('/v1/thing/x', { method: 'HEAD' })).status, 405);
    assert.equal((await edge.request('/v1/nothing', { method: 'HEAD' })).status, 404);
  });

  it('answers OPTIONS with 200 and Allow', async () => {
    await using edge = await openEdge([hello]);
    const got = await edge.request('/v1/hello', { method: 'OPTIONS' });
    assert.deepEqual([got.status, got.headers.allow, got.text], [200, 'GET, HEAD, OPTIONS', '']);
    assert.equal((await edge.request('/v1/nothing', { method: 'OPTIONS' })).status, 404);
  });

  it('refuses malformed paths with 400, never 500', async () => {
    await using edge = await openEdge([thing]);
    for (const path of ['/v1/thing/%', '/v1/thing/%zz', '/v1/thing/%ff', '/v1/thing/a%00b', '/%e0%a4%a']) {
      assert.equal((await edge.request(path)).status, 400, path);
    }
  });

  it('lists its endpoints', async () => {
    await using edge = await openEdge([hello, thing]);
    assert.deepEqual(
      edge.server.endpoints.map(({ method, path }) => `${method} ${path}`),
      ['GET /v1/hello', 'GET /v1/thing/:name'],
    );
  });
});

describe('the query string', () => {
  it('refuses malformed encoding and NUL', async () => {
    await using edge = await openEdge([hello]);
    for (const query of ['a=%', '%=a', 'a=%ff', 'a=%00', '%00']) {
      assert.equal((await edge.request(`/v1/hello?${query}`)).status, 400, query);
    }
  });

  it('ignores what it does not know, and takes the first of two', async () => {
    const echo: Endpoint = { ...hello, handle: (call) => textAnswer(200, String(call.query.get('a'))) };
    await using edge = await openEdge([echo]);
    assert.equal((await edge.request('/v1/hello?b=1&a=x+y%2B&a=2&&=&c')).text, 'x y+');
  });

  it('refuses secrets, and they are not logged, whoever sends them', async () => {
    await using edge = await openEdge([hello]);
    for (const name of ['token', 'Token', 'x-service-token', 'X-Consul-Token', 'access_token', 'toke%6e']) {
      const got = await edge.request(`/v1/hello?a=1&${name}=s3cr3t-value`);
      assert.equal(got.status, 400, name);
      assert.doesNotMatch(got.text, /s3cr3t/);
    }
    await edge.request('/v1/hello?other=s3cr3t-value&index=7');
    await edge.request('/v1/s3cr3t-value', { headers: { 'x-service-token': 's3cr3t-value' } });
    const lines = JSON.stringify(edge.logged);
    assert.doesNotMatch(lines, /s3cr3t/);
    assert.match(lines, /"query":"index=7"/);
  });
});

describe('request ids', () => {
  it('gives every answer one, of its own or the sane one that was given', async () => {
    await using edge = await openEdge([hello]);
    const first = (await edge.request('/v1/hello')).headers['x-request-id'];
    const second = (await edge.request('/v1/nothing')).headers['x-request-id'];
    assert.match(String(first), /^test-/);
    assert.notEqual(first, second);
    const given = { 'x-request-id': 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6' };
    assert.equal((await edge.request('/v1/hello', { headers: given })).headers['x-request-id'], given['x-request-id']);
    for (const id of ['', 'a b', 'é', 'x'.repeat(65), '<script>']) {
      const got = await edge.request('/v1/hello', { headers: { 'x-request-id': Buffer.from(id).toString('latin1') } });
      assert.match(String(got.headers['x-request-id']), /^test-/, id);
    }
  });

  it('logs a line for each request with its id and what was asked', async () => {
    await using edge = await openEdge([thing]);
    const got = await edge.request('/v1/thing/x?index=3');
    const line = edge.logged.find(({ id }) => id === got.headers['x-request-id']);
    const { method, route, status, bytes, query } = line ?? {};
    assert.deepEqual(
      { method, route, status, bytes, query },
      { method: 'GET', route: '/v1/thing/:name', status: 200, bytes: 1, query: 'index=3' },
    );
  });
});

describe('origins', () => {
  it('refuses pages from elsewhere, and takes its own', async () => {
    await using edge = await openEdge([hello]);
    for (const origin of ['http://evil.example', 'null', 'https://evil.example:8500', `http://127.0.0.1:1`]) {
      for (const path of ['/v1/hello', '/v1/nothing']) {
        assert.equal((await edge.request(path, { headers: { origin } })).status, 403, `${origin} ${path}`);
      }
      assert.equal((await edge.request('/v1/hello', { method: 'OPTIONS', headers: { origin } })).status, 403);
    }
    for (const origin of [`http://127.0.0.1:${edge.port}`, `https://127.0.0.1:${edge.port}`]) {
      assert.equal((await edge.request('/v1/hello', { headers: { origin } })).status, 200, origin);
    }
  });

  const answers = async (edge: OpenEdge, headers: OutgoingHttpHeaders): Promise<number> =>
    (await edge.request('/v1/hello', { headers })).status;
  const LOCAL = ['127.0.0.1', '[::1]:8500', 'localhost', 'LocalHost.:8500', 'accord.localhost:8500', 'proxied.example'];
  const FOREIGN = ['evil.example:8500', 'evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '[evil]'];
  const allowedOrigins = ['https://proxied.example'];

  it('on loopback takes no page for its own that somebody else has named so, as DNS rebinding does', async () => {
    await using edge = await openEdge([hello], { localNames: 'for-pages', allowedOrigins });
    for (const host of LOCAL) assert.equal(await answers(edge, { host, origin: `http://${host}` }), 200, host);
    for (const host of FOREIGN) {
      assert.equal(await answers(edge, { host, origin: `http://${host}` }), 403, host);
      assert.equal(await answers(edge, { host }), 200, `${host} without Origin: a token is asked for`);
    }
    const { text } = await edge.request('/v1/hello', {
      headers: { host: 'evil.example', origin: 'http://evil.example' },
    });
    assert.match(text, /^Permission denied: "evil\.example" is no name of this server, which listens on loopback; /);
  });

  it('on loopback without tokens does not answer under a foreign name, since a GET of its own page has no Origin', async () => {
    await using edge = await openEdge([hello], { localNames: 'for-everybody', allowedOrigins });
    for (const host of LOCAL) assert.equal(await answers(edge, { host }), 200, host);
    for (const host of FOREIGN) assert.equal(await answers(edge, { host }), 403, host);
    assert.match(await edge.raw('GET /v1/hello HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /);
  });

  it('elsewhere may have any name', async () => {
    await using edge = await openEdge([hello]);
    assert.equal(await answers(edge, { host: 'accord.example', origin: 'http://accord.example' }), 200);
  });

  it('lets pages of allowed origins read answers, errors and preflights included', async () => {
    await using edge = await openEdge([hello], { allowedOrigins: ['https://Console.example'] });
    const headers = { origin: 'https://console.example' };
    for (const path of ['/v1/hello', '/v1/nothing']) {
      const got = await edge.request(path, { headers });
      assert.equal(got.headers['access-control-allow-origin'], 'https://console.example');
      assert.match(String(got.headers['access-control-expose-headers']), /X-Service-Index/);
      assert.equal(got.headers.vary, 'Origin');
    }
    const preflight = await edge.request('/v1/hello', { method: 'OPTIONS', headers });
    assert.equal(preflight.headers['access-control-allow-methods'], 'GET, HEAD, OPTIONS');
    assert.match(String(preflight.headers['access-control-allow-headers']), /X-Service-Token/);
  });
});

describe('errors', () => {
  const PROBLEM = { accept: 'text/html;q=0.5, application/problem+json' };

  for (const code of serviceErrorCodes) {
    it(`tells ${code} as text, and as a problem document to those who accept one`, async () => {
      await using edge = await openEdge([
        throwing(new ServiceError(code, 'what is "wrong"', { retryAfterSeconds: 3 })),
      ]);
      const text = await edge.request('/v1/throw');
      const problem = await edge.request('/v1/throw', { headers: PROBLEM });
      const id = problem.headers['x-request-id'];
      const said = code === 'internal' ? `Internal error (request ${id})` : 'what is "wrong"';
      assert.equal(text.status, statusOf(code));
      assert.equal(text.headers['content-type'], 'text/plain; charset=utf-8');
      assert.equal(text.text, code === 'internal' ? `Internal error (request ${text.headers['x-request-id']})` : said);
      assert.equal(text.headers['retry-after'], '3');
      assert.equal(problem.headers['content-type'], 'application/problem+json');
      const { title, ...rest } = JSON.parse(problem.text) as Record<string, unknown>;
      assert.equal(typeof title, 'string');
      assert.deepEqual(rest, { type: 'about:blank', status: statusOf(code), code, detail: said, requestId: id });
    });
  }

  it('speaks plain text to those who only accept anything', async () => {
    await using edge = await openEdge([hello]);
    for (const accept of ['*/*', 'application/*', 'application/json', 'application/problem+json;q=0']) {
      const got = await edge.request('/v1/nothing', { headers: { accept } });
      assert.equal(got.headers['content-type'], 'text/plain; charset=utf-8', accept);
    }
  });

  const ofState: [StateErrorCode, number][] = [
    ['unavailable', 503],
    ['outcome-unknown', 503],
    ['overloaded', 503],
    ['full', 503],
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
    it(`tells the state's ${code} as ${status}`, async () => {
      await using edge = await openEdge([throwing(new StateError(code, 'the store says', { retryAfterSeconds: 2 }))]);
      const got = await edge.request('/v1/throw');
      assert.deepEqual([got.status, got.headers['retry-after']], [status, '2']);
      if (status !== 500) assert.equal(got.text, 'the store says');
    });
  }

  it('says no more than its request id of a fault of ours, and logs the cause', async () => {
    const async: Endpoint = { ...hello, path: '/v1/later', handle: () => Promise.reject(new Error('inner detail')) };
    await using edge = await openEdge([throwing(new Error('inner detail', { cause: new Error('deeper') })), async]);
    for (const path of ['/v1/throw', '/v1/later']) {
      const got = await edge.request(path);
      assert.deepEqual([got.status, got.text], [500, `Internal error (request ${got.headers['x-request-id']})`]);
      const line = edge.logged.find(({ level, id }) => level === 'error' && id === got.headers['x-request-id']);
      assert.match(JSON.stringify(line), /inner detail/);
    }
    assert.match(JSON.stringify(edge.logged), /deeper/);
  });

  it('uses the form of the service below its path, for paths without an endpoint, too', async () => {
    const errorForms = {
      '/api/v2/': (_: unknown, error: ServiceError) => textAnswer(error.status, `v2 ${error.code}`),
    };
    const other: Endpoint = { ...throwing(new ServiceError('conflict', 'x')), path: '/api/v2/throw' };
    await using edge = await openEdge([other, hello], { errorForms });
    assert.equal((await edge.request('/api/v2/throw')).text, 'v2 conflict');
    assert.equal((await edge.request('/api/v2/nothing')).text, 'v2 not-found');
    assert.equal((await edge.request('/api/v2/%zz')).text, 'v2 bad-request');
    assert.equal((await edge.request('/v1/nothing')).text, 'Nothing is served at "/v1/nothing"');
  });
});

describe('bodies', () => {
  const bulk: Endpoint = { ...putThing, path: '/v1/bulk', bulk: true };

  it('come as they are, whatever type is declared', async () => {
    await using edge = await openEdge([putThing]);
    for (const type of ['application/x-www-form-urlencoded', 'nonsense', ';;;', 'application/json', '']) {
      const got = await edge.request('/v1/thing/x', {
        method: 'PUT',
        body: '{"a":1}',
        headers: { 'content-type': type },
      });
      assert.deepEqual([got.status, got.text], [200, '{"a":1}'], type);
    }
    const chunked = await edge.request('/v1/thing/x', {
      method: 'PUT',
      body: 'chunked',
      headers: { 'transfer-encoding': 'chunked' },
    });
    assert.equal(chunked.text, 'chunked');
    assert.equal((await edge.request('/v1/thing/x', { method: 'PUT' })).text, '');
  });

  it('beyond a limit are 413 and name it, declared or not, and the connection goes on', async () => {
    await using edge = await openEdge([putThing, bulk]);
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      for (const [path, bytes, text] of [
        ['/v1/thing/x', 1_025, 'The request body is larger than 1024 bytes (limits.body)'],
        ['/v1/bulk', 4_097, 'The request body is larger than 4096 bytes (limits.bulk-body)'],
        ['/v1/bulk', 1_000_000, 'The request body is larger than 4096 bytes (limits.bulk-body)'],
      ] as const) {
        const got = await edge.request(path, { method: 'PUT', body: 'x'.repeat(bytes), headers });
        assert.deepEqual([got.status, got.text], [413, text]);
      }
    }
    assert.equal((await edge.request('/v1/thing/x', { method: 'PUT', body: 'x'.repeat(1_024) })).status, 200);
    assert.equal((await edge.request('/v1/bulk', { method: 'PUT', body: 'x'.repeat(4_096) })).status, 200);
  });
});

describe('a server', () => {
  it('says that it lives, and nothing else, until it is open', async () => {
    const log = createLog({ level: 'error', format: 'json' });
    const limits = { connections: 10, body: 10, bulkBody: 10 };
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
    const ask = async (path: string) => await request({ port, path });
    assert.deepEqual([(await ask('/healthz')).status, (await ask('/healthz')).text], [200, 'ok']);
    for (const path of ['/readyz', '/v1/hello', '/', '/%zz']) {
      const got = await ask(path);
      assert.deepEqual([got.status, got.headers['retry-after']], [503, '1'], path);
      assert.ok(got.headers['x-request-id']);
    }
    server.add(hello);
    await server.open();
    assert.equal((await ask('/v1/hello')).text, 'hello');
    await server.stop(0);
  });

  it('fails to listen where another does', async () => {
    await using edge = await openEdge([]);
    await assert.rejects(openEdge([], { port: edge.port }), { code: 'EADDRINUSE' });
  });

  it('finishes what is under way when it stops, closes idle connections, and takes no new ones', async () => {
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
    await using edge = await openEdge([slow, thing]);
    const idle = await edge.connect();
    const answered = once(idle, 'data');
    const idleText = readAll(idle);
    idle.write('GET /v1/thing/x HTTP/1.1\r\nHost: a\r\n\r\n');
    await answered;
    const unused = readAll(await edge.connect());
    const pending = request({ port: edge.port, path: '/v1/hello' });
    while (begun === 0) await new Promise((next) => setImmediate(next));
    const stopped = edge.server.stop(10_000);
    assert.match(await idleText, /200 OK/);
    assert.equal(await unused, '');
    await assert.rejects(connect(edge.port), { code: 'ECONNREFUSED' });
    resolve();
    const got = await pending;
    assert.deepEqual([got.status, got.text, got.headers.connection], [200, 'late', 'close']);
    await stopped;
  });

  it('closes what is left when the time to stop is over', async () => {
    const begun = Promise.withResolvers<void>();
    const never: Endpoint = {
      ...hello,
      handle: () => {
        begun.resolve();
        return new Promise(() => undefined);
      },
    };
    await using edge = await openEdge([never]);
    const unused = readAll(await edge.connect());
    const cut = assert.rejects(edge.request('/v1/hello'), { code: 'ECONNRESET' });
    await begun.promise;
    await edge.server.stop(50);
    await cut;
    assert.equal(await unused, '');
  });
});
