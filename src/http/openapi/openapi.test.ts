import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type } from 'typebox';
import { emptyAnswer } from '../answer.ts';
import type { Endpoint } from '../endpoint.ts';
import type { Parameter } from '../parameter.ts';
import { openEdge } from '../server/edge.suite.ts';
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
    errorForms: { 'text/plain': Type.String() },
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

/** The description of one endpoint, loosely typed: what a test names must be there. */
// biome-ignore lint/suspicious/noExplicitAny: a JSON document is looked into by path
function described(more: Partial<Endpoint>): any {
  const { path, method } = endpoint(more);
  const { paths } = describeApi([endpoint(more)], api);
  return paths[pathTemplate(path)]?.[method.toLowerCase()];
}

describe('the description of an API', () => {
  it('has the endpoints below its prefix, and no other', () => {
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

  it('names operations after method and path', () => {
    const names = ['/v9/thing/:id', '/v9/thing/id', '/v9/config-entries/:kind'].map((path) => described({ path }));
    assert.deepEqual(
      names.map(({ operationId }) => operationId),
      ['getThingById', 'getThingId', 'getConfigEntriesByKind'],
    );
  });

  it("tells an endpoint's own parameter instead of the one of all endpoints", () => {
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

  it('says that only what is not open asks for a token', () => {
    assert.deepEqual([described({}).security, described({ open: true }).security], [[{ key: [] }], []]);
  });

  it('tells answers as they are: JSON, of another type, empty, none', () => {
    const { responses: json } = described({ answer: Type.Integer(), answerHeaders: [text('X-Own')] });
    assert.deepEqual(json[200].content, { 'application/things+json': { schema: { type: 'integer' } } });
    assert.deepEqual(Object.keys(json[200].headers), ['X-Request-Id', 'X-Common', 'X-Own']);
    const csv = described({ answer: Type.String(), answerType: 'text/csv' });
    assert.deepEqual(csv.responses[200].content, { 'text/csv': { schema: { type: 'string' } } });
    assert.equal(described({}).responses[200].content, undefined);
    assert.equal(described({ refused: true }).responses[200], undefined);
  });

  it('tells conflicts and full stores of what changes something only', () => {
    const statuses = (more: Partial<Endpoint>) => Object.keys(described(more).responses);
    for (const status of ['409', '507']) {
      assert.ok(statuses({ method: 'DELETE' }).includes(status));
      assert.ok(!statuses({}).includes(status));
      assert.ok(!statuses({ method: 'PUT', refused: true }).includes(status));
    }
  });

  it('has a schema with a title once, and refers to it everywhere else', () => {
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

  it('is not made when two schemas have one title', () => {
    const answer = Type.Object({ a: Type.Object({}, { title: 'Same' }), b: Type.Object({}, { title: 'Same' }) });
    assert.throws(() => describeApi([endpoint({ answer })], api), /two schemas have the title Same/);
  });
});

describe('GET …/openapi.json', () => {
  it('describes all endpoints of its API, itself included, wherever it was added', async () => {
    const endpoints: Endpoint[] = [];
    const own = openApiEndpoint(endpoints, api);
    endpoints.push(own, endpoint({}));
    await using edge = await openEdge(endpoints);
    const got = await edge.request('/v9/openapi.json');
    assert.deepEqual(JSON.parse(got.text), JSON.parse(JSON.stringify(describeApi(endpoints, api))));
    assert.deepEqual(Object.keys(JSON.parse(got.text).paths), ['/v9/openapi.json', '/v9/things']);
    const pretty = await edge.request('/v9/openapi.json?pretty');
    assert.equal(pretty.text, `${JSON.stringify(JSON.parse(got.text), null, 4)}\n`);
  });

  it('is not sent again to who has it', async () => {
    await using edge = await openEdge([openApiEndpoint([], api)]);
    const first = await edge.request('/v9/openapi.json');
    const tag = String(first.headers.etag);
    for (const has of [tag, tag.slice(2), `"other", ${tag}`, '*']) {
      const { status, text, headers } = await edge.request('/v9/openapi.json', { headers: { 'if-none-match': has } });
      assert.deepEqual([status, text, headers.etag, headers['content-length']], [304, '', tag, undefined], has);
    }
    for (const has of ['"other"', '', tag.toUpperCase()]) {
      const { status, text } = await edge.request('/v9/openapi.json', { headers: { 'if-none-match': has } });
      assert.deepEqual([status, text], [200, first.text], has);
    }
  });
});
