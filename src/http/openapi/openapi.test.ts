import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type } from 'typebox';
import { emptyAnswer } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import type { Parameter } from '../parameter.ts';
import { startTestServer } from '../server/test-server.suite.ts';
import type { ApiDescription } from './api-description.ts';
import { describeApi, pathTemplate } from './openapi.ts';
import { openApiEndpoint } from './openapi-endpoint.ts';

const text = (name: string, description = ''): Parameter => ({ name, description, schema: Type.String() });

const api: ApiDescription = {
  title: 'Things',
  version: '1',
  prefix: '/v9/',
  conventions: {
    securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
    jsonType: 'application/things+json',
    errorSchemas: { 'text/plain': Type.String() },
    query: () => [text('common'), text('special', 'as all have it')],
    headers: () => [],
    answerHeaders: () => [text('X-Common')],
  },
};

const endpoint = (more: Partial<Endpoint>): Endpoint => ({
  method: 'GET',
  path: '/v9/things',
  summary: 'Does something',
  handle: () => emptyAnswer,
  ...more,
});

/** Returns the description of one endpoint, loosely typed, because tests read it by path. */
// biome-ignore lint/suspicious/noExplicitAny: tests read a JSON document by path
function described(more: Partial<Endpoint>): any {
  const { path, method } = endpoint(more);
  const { paths } = describeApi([endpoint(more)], api);
  return paths[pathTemplate(path)]?.[method.toLowerCase()];
}

describe('describeApi', () => {
  it('includes only endpoints below the prefix', () => {
    const { paths } = describeApi(
      [
        endpoint({}),
        endpoint({ method: 'PUT' }),
        endpoint({ path: '/v9/thing/:id/of/:owner' }),
        endpoint({ path: '/x' }),
      ],
      api,
    );
    assert.deepEqual(
      Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods)]),
      [
        ['/v9/things', ['get', 'put']],
        ['/v9/thing/{id}/of/{owner}', ['get']],
      ],
    );
  });

  it('derives operation IDs from method and path', () => {
    const names = ['/v9/thing/:id', '/v9/thing/id', '/v9/config-entries/:kind'].map((path) => described({ path }));
    assert.deepEqual(
      names.map(({ operationId }) => operationId),
      ['getThingById', 'getThingId', 'getConfigEntriesByKind'],
    );
  });

  it("prefers an endpoint's own parameter to a common one of the same name", () => {
    const { parameters } = described({ query: [text('special', 'as this one has it'), text('own')] });
    assert.deepEqual(
      parameters.map(({ name, in: place, description }: Record<string, unknown>) => [name, place, description]),
      [
        ['common', 'query', ''],
        ['special', 'query', 'as this one has it'],
        ['own', 'query', ''],
      ],
    );
  });

  it('requires a token unless the endpoint is open', () => {
    assert.deepEqual([described({}).security, described({ open: true }).security], [[{ key: [] }], []]);
  });

  it('describes JSON, other media types, empty responses, and unsupported operations', () => {
    const { responses: json } = described({ answer: Type.Integer(), answerHeaders: [text('X-Own')] });
    assert.deepEqual(json[200].content, { 'application/things+json': { schema: { type: 'integer' } } });
    assert.deepEqual(Object.keys(json[200].headers), ['X-Request-Id', 'X-Common', 'X-Own']);
    const csv = described({ answer: Type.String(), answerType: 'text/csv' });
    assert.deepEqual(csv.responses[200].content, { 'text/csv': { schema: { type: 'string' } } });
    assert.equal(described({}).responses[200].content, undefined);
    assert.equal(described({ unsupported: true }).responses[200], undefined);
  });

  it('lists conflicts and full stores only for endpoints that change something', () => {
    const statuses = (more: Partial<Endpoint>) => Object.keys(described(more).responses);
    for (const status of ['409', '507']) {
      assert.ok(statuses({ method: 'DELETE' }).includes(status));
      assert.ok(!statuses({}).includes(status));
      assert.ok(!statuses({ method: 'PUT', unsupported: true }).includes(status));
    }
  });

  it('defines a titled schema once, and references it', () => {
    const inner = Type.Object({ title: Type.String() }, { title: 'Inner' });
    const outer = Type.Object({ inner }, { title: 'Outer' });
    const { paths, components } = describeApi([endpoint({ answer: Type.Array(outer), body: outer })], api);
    const operation = paths['/v9/things']?.['get'] as Record<string, unknown>;
    const schema = { $ref: '#/components/schemas/Outer' };
    assert.deepEqual(operation['requestBody'], { required: true, content: { 'application/things+json': { schema } } });
    assert.deepEqual(components.schemas, {
      Outer: {
        type: 'object',
        title: 'Outer',
        required: ['inner'],
        properties: { inner: { $ref: '#/components/schemas/Inner' } },
      },
      Inner: { type: 'object', title: 'Inner', required: ['title'], properties: { title: { type: 'string' } } },
    });
  });

  it('throws when two schemas have the same title', () => {
    const answer = Type.Object({ a: Type.Object({}, { title: 'Same' }), b: Type.Object({}, { title: 'Same' }) });
    assert.throws(() => describeApi([endpoint({ answer })], api), /two schemas have the title Same/);
  });
});

describe('GET …/openapi.json', () => {
  it('describes all endpoints of its API, including itself and those added later', async () => {
    const endpoints: Endpoint[] = [];
    const own = openApiEndpoint(endpoints, api);
    endpoints.push(own, endpoint({}));
    await using server = await startTestServer(endpoints);
    const got = await server.request('/v9/openapi.json');
    assert.deepEqual(JSON.parse(got.text), JSON.parse(JSON.stringify(describeApi(endpoints, api))));
    assert.deepEqual(Object.keys(JSON.parse(got.text).paths), ['/v9/openapi.json', '/v9/things']);
    const pretty = await server.request('/v9/openapi.json?pretty');
    assert.equal(pretty.text, `${JSON.stringify(JSON.parse(got.text), null, 4)}\n`);
  });

  it('returns 304 when If-None-Match contains its ETag', async () => {
    await using server = await startTestServer([openApiEndpoint([], api)]);
    const first = await server.request('/v9/openapi.json');
    const tag = String(first.headers.etag);
    for (const has of [tag, tag.slice(2), `"other", ${tag}`, '*']) {
      const { status, text, headers } = await server.request('/v9/openapi.json', { headers: { 'if-none-match': has } });
      assert.deepEqual([status, text, headers.etag, headers['content-length']], [304, '', tag, undefined], has);
    }
    for (const has of ['"other"', '', tag.toUpperCase()]) {
      const { status, text } = await server.request('/v9/openapi.json', { headers: { 'if-none-match': has } });
      assert.deepEqual([status, text], [200, first.text], has);
    }
  });
});
