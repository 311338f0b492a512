/**
 * The OpenAPI description of `/v1`: it is valid, it contains every endpoint, and real responses conform to it. The last
 * test fails if no request below succeeds on an endpoint.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { type OpenApi, pathTemplate } from '../../src/http/openapi/openapi.ts';
import { type Api, startApi } from '../support/process/api.ts';
import { assertConformsToOpenApi } from '../support/process/openapi-conformance.ts';
import { type RequestOptions, startServer } from '../support/process/server.ts';

/** A request and its expected status. */
interface Step {
  /** Method and path pattern. */
  readonly endpoint: string;
  /** Path and query, if they differ from the pattern. */
  readonly at?: string;
  /** Default: 200. */
  readonly status?: number;
  readonly options?: RequestOptions;
}

const MISSING = '00000000-0000-4000-8000-000000000000';
const PROBLEM = { accept: 'application/problem+json' };

const grants = [
  { Resource: 'peering', Access: 'read', Partition: '*', Names: ['east', 'prod-*'] },
  { Resource: 'acl', Access: 'write' },
];

/** A registration with every field. */
const REGISTRATION = {
  ID: '40e4a748-2192-161a-0510-9bf59fe950b5',
  Node: 'n1',
  Address: '10.0.0.1',
  TaggedAddresses: { wan: '192.0.2.1' },
  NodeMeta: { rack: '7' },
  Service: {
    ID: 'web-1',
    Service: 'web',
    Kind: 'typical',
    Tags: ['v1'],
    Port: 80,
    SocketPath: '/run/web',
    Meta: { team: 'a' },
    TaggedAddresses: { wan: { Address: '192.0.2.1', Port: 8080 } },
    Weights: { Passing: 2, Warning: 1 },
  },
  Checks: [
    { Name: 'c', Status: 'passing', ServiceID: 'web-1', Definition: { HTTP: 'http://10.0.0.1', Interval: '5s' } },
  ],
};

const EXPORTED = {
  Kind: 'exported-services',
  Name: 'default',
  Services: [{ Name: '*', Consumers: [{ Peer: 'nobody' }, { Partition: 'default' }] }],
  Meta: { team: 'a' },
};

const INTENTIONS = {
  Kind: 'service-intentions',
  Name: 'db',
  Sources: [
    { Name: 'web', Action: 'allow', Description: 'reports' },
    { Name: '*', Peer: 'nobody', Action: 'deny' },
  ],
};

/**
 * Requests that run in order and depend on each other. The values of `created` replace the placeholders `ACCESSOR` and
 * `PEERING_TOKEN`.
 */
const steps: readonly Step[] = [
  { endpoint: 'GET /v1/openapi.json' },
  { endpoint: 'PUT /v1/partition/:name', at: '/v1/partition/eu', options: { body: { Description: 'Europe' } } },
  { endpoint: 'PUT /v1/partition/:name', at: '/v1/partition/eu?pretty', options: { body: {} } },
  { endpoint: 'GET /v1/partition/:name', at: '/v1/partition/eu' },
  { endpoint: 'GET /v1/partitions' },
  { endpoint: 'PUT /v1/acl/token', options: {} },
  { endpoint: 'PUT /v1/acl/token', options: { body: { Partition: 'eu', Grants: grants, ExpirationTTL: '1h' } } },
  { endpoint: 'GET /v1/acl/token/:accessor', at: '/v1/acl/token/ACCESSOR' },
  { endpoint: 'PUT /v1/acl/token/:accessor', at: '/v1/acl/token/ACCESSOR', options: { body: { Description: 'x' } } },
  { endpoint: 'GET /v1/acl/token/self' },
  { endpoint: 'GET /v1/acl/tokens', at: '/v1/acl/tokens?partition=*&stale' },
  { endpoint: 'GET /v1/acl/tokens', at: '/v1/acl/tokens?limit=1&pretty' },
  { endpoint: 'DELETE /v1/acl/token/:accessor', at: '/v1/acl/token/ACCESSOR' },
  {
    endpoint: 'POST /v1/peering/token',
    options: { body: { PeerName: 'west', ServerExternalAddresses: ['accord.example:8503'], Meta: { env: 'prod' } } },
  },
  { endpoint: 'POST /v1/peering/check', options: { body: { PeeringToken: 'PEERING_TOKEN' } } },
  { endpoint: 'POST /v1/peering/establish', options: { body: { PeerName: 'east', PeeringToken: 'PEERING_TOKEN' } } },
  { endpoint: 'GET /v1/peering/:name', at: '/v1/peering/west' },
  { endpoint: 'GET /v1/peering/:name', at: '/v1/peering/east?pretty' },
  { endpoint: 'GET /v1/peering/:name/token', at: '/v1/peering/west/token' },
  { endpoint: 'GET /v1/peering/:name/check', at: '/v1/peering/west/check' },
  { endpoint: 'GET /v1/peering/:name/exported-services', at: '/v1/peering/west/exported-services' },
  { endpoint: 'GET /v1/peering/:name/imported-services', at: '/v1/peering/west/imported-services' },
  { endpoint: 'GET /v1/peering/:name/explain', at: '/v1/peering/west/explain?service=web' },
  { endpoint: 'GET /v1/peering/:name/diff', at: '/v1/peering/west/diff' },
  { endpoint: 'GET /v1/peerings' },
  { endpoint: 'GET /v1/peerings', at: '/v1/peerings?partition=*&limit=1&cached' },
  { endpoint: 'DELETE /v1/peering/:name/token', at: '/v1/peering/west/token' },
  { endpoint: 'GET /v1/peering/:name/token', at: '/v1/peering/west/token' },
  { endpoint: 'DELETE /v1/peering/:name', at: '/v1/peering/west' },
  { endpoint: 'GET /v1/peering/:name', at: '/v1/peering/west' },
  { endpoint: 'PUT /v1/catalog/register', options: { body: REGISTRATION } },
  { endpoint: 'GET /v1/catalog/services' },
  { endpoint: 'GET /v1/catalog/service/:name', at: '/v1/catalog/service/web?tag=v1&pretty' },
  { endpoint: 'GET /v1/catalog/nodes', at: '/v1/catalog/nodes?peer=east' },
  { endpoint: 'GET /v1/catalog/nodes' },
  { endpoint: 'GET /v1/catalog/node/:name', at: '/v1/catalog/node/n1' },
  { endpoint: 'GET /v1/catalog/node/:name', at: '/v1/catalog/node/nowhere' },
  { endpoint: 'GET /v1/health/service/:name', at: '/v1/health/service/web?passing' },
  { endpoint: 'GET /v1/health/service/:name', at: '/v1/health/service/web?failover=east&cached' },
  { endpoint: 'GET /v1/health/node/:name', at: '/v1/health/node/n1' },
  { endpoint: 'GET /v1/health/state/:state', at: '/v1/health/state/any' },
  { endpoint: 'PUT /v1/agent/service/register', options: { body: { Name: 'db', Check: { TTL: '1h' } } } },
  { endpoint: 'PUT /v1/agent/check/pass/:id', at: '/v1/agent/check/pass/service:db?note=fine' },
  { endpoint: 'PUT /v1/agent/check/warn/:id', at: '/v1/agent/check/warn/service:db' },
  { endpoint: 'PUT /v1/agent/check/fail/:id', at: '/v1/agent/check/fail/service:db' },
  { endpoint: 'GET /v1/agent/services' },
  { endpoint: 'GET /v1/agent/checks' },
  { endpoint: 'PUT /v1/agent/service/deregister/:id', at: '/v1/agent/service/deregister/db' },
  { endpoint: 'PUT /v1/config', options: { body: EXPORTED } },
  { endpoint: 'POST /v1/config/preview', options: { body: { ...EXPORTED, Services: [] } } },
  { endpoint: 'PUT /v1/config', at: '/v1/config?cas=0', options: { body: INTENTIONS } },
  { endpoint: 'PUT /v1/config', at: '/v1/config?cas=0', options: { body: INTENTIONS } },
  { endpoint: 'POST /v1/config/preview', options: { body: { ...INTENTIONS, Name: '*' } } },
  { endpoint: 'GET /v1/config/:kind', at: '/v1/config/exported-services' },
  { endpoint: 'GET /v1/config/:kind', at: '/v1/config/service-intentions?partition=*' },
  { endpoint: 'GET /v1/config/:kind/:name', at: '/v1/config/service-intentions/db?pretty' },
  { endpoint: 'GET /v1/config/:kind/:name', at: '/v1/config/exported-services/default' },
  { endpoint: 'GET /v1/exported-services' },
  { endpoint: 'GET /v1/imported-services', at: '/v1/imported-services?partition=*' },
  { endpoint: 'GET /v1/connect/intentions/check', at: '/v1/connect/intentions/check?source=web&destination=db' },
  { endpoint: 'GET /v1/connect/intentions/check', at: '/v1/connect/intentions/check?source=web&destination=web' },
  { endpoint: 'GET /v1/connect/intentions/match', at: '/v1/connect/intentions/match?by=source&name=web' },
  { endpoint: 'DELETE /v1/config/:kind/:name', at: '/v1/config/exported-services/default?cas=1' },
  { endpoint: 'DELETE /v1/config/:kind/:name', at: '/v1/config/exported-services/default' },
  { endpoint: 'PUT /v1/catalog/deregister', options: { body: { Node: 'n1' } } },
  { endpoint: 'GET /v1/operator/export' },
  { endpoint: 'GET /v1/audit' },
  { endpoint: 'GET /v1/audit', at: '/v1/audit?limit=1' },
  { endpoint: 'DELETE /v1/partition/:name', at: '/v1/partition/eu' },
];

/** Requests that the server rejects. */
const rejections: readonly Step[] = [
  { endpoint: 'PUT /v1/acl/bootstrap', status: 403 },
  { endpoint: 'PUT /v1/acl/token', status: 400, options: { body: '{' } },
  { endpoint: 'PUT /v1/acl/token', status: 400, options: { body: { Partition: 'nowhere' } } },
  { endpoint: 'PUT /v1/acl/token', status: 403, options: { token: null } },
  { endpoint: 'PUT /v1/acl/token', status: 413, options: { body: 'x'.repeat(2 * 1024 * 1024) } },
  { endpoint: 'GET /v1/acl/token/:accessor', at: `/v1/acl/token/${MISSING}`, status: 404 },
  { endpoint: 'PUT /v1/acl/token/:accessor', at: `/v1/acl/token/${MISSING}`, status: 404, options: { body: {} } },
  { endpoint: 'GET /v1/acl/tokens', at: '/v1/acl/tokens?limit=x', status: 400 },
  { endpoint: 'GET /v1/acl/tokens', at: '/v1/acl/tokens?index=x', status: 400 },
  { endpoint: 'GET /v1/partition/:name', at: '/v1/partition/nowhere', status: 404 },
  { endpoint: 'DELETE /v1/partition/:name', at: '/v1/partition/default', status: 409 },
  { endpoint: 'POST /v1/peering/token', status: 400, options: { body: { PeerName: '-' } } },
  { endpoint: 'POST /v1/peering/establish', status: 400, options: { body: { PeerName: 'x', PeeringToken: 'x' } } },
  { endpoint: 'GET /v1/peering/:name', at: '/v1/peering/nobody', status: 404 },
  { endpoint: 'GET /v1/peerings', status: 403, options: { token: null } },
  { endpoint: 'PUT /v1/catalog/register', status: 400, options: { body: {} } },
  { endpoint: 'PUT /v1/catalog/deregister', status: 403, options: { token: null, body: { Node: 'n1' } } },
  { endpoint: 'GET /v1/health/state/:state', at: '/v1/health/state/fine', status: 400 },
  { endpoint: 'GET /v1/health/service/:name', at: '/v1/health/service/web?passing=maybe', status: 400 },
  { endpoint: 'PUT /v1/agent/check/pass/:id', at: '/v1/agent/check/pass/nothing', status: 404 },
  { endpoint: 'PUT /v1/config', status: 400, options: { body: { ...EXPORTED, Name: 'nowhere' } } },
  { endpoint: 'GET /v1/config/:kind/:name', at: '/v1/config/service-intentions/x', status: 404 },
  { endpoint: 'GET /v1/connect/intentions/check', status: 400 },
  { endpoint: 'GET /v1/operator/export', status: 403, options: { token: 'unknown' } },
  { endpoint: 'GET /v1/audit', at: '/v1/audit?before=x', status: 400 },
  { endpoint: 'GET /v1/audit', status: 403, options: { headers: { origin: 'https://elsewhere.example' } } },
];

let api: Api;
/** The other cluster of the peerings. */
let other: Api;
let document: OpenApi;
/** The endpoints on which a request has succeeded. */
const succeeded = new Set<string>();
/** The values that earlier requests returned, by placeholder. */
const created = { ACCESSOR: MISSING, PEERING_TOKEN: '' };

before(async () => {
  api = await startApi();
  const answer = await api.request('GET', '/v1/openapi.json', { token: null });
  assert.equal(answer.status, 200, answer.text);
  document = answer.json<OpenApi>();
  other = await startApi();
  const generated = await other.request('POST', '/v1/peering/token', { body: { PeerName: 'us' } });
  created.PEERING_TOKEN = generated.json<{ PeeringToken: string }>().PeeringToken;
});
after(async () => {
  await api[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

const endpointsOf = ({ server }: Api): string[] =>
  server.endpoints.filter(({ path }) => path.startsWith('/v1/')).map(({ method, path }) => `${method} ${path}`);

test('the description of /v1 is valid OpenAPI 3.1 and needs no token [V1-5]', async () => {
  const { valid, errors } = await new Validator().validate(
    structuredClone(document) as object as Record<string, unknown>,
  );
  assert.ok(valid, JSON.stringify(errors, null, 2));
  assert.match(document.openapi, /^3\.1\./);
});

test('the description of /v1 contains exactly the endpoints of /v1 [V1-5]', () => {
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.deepEqual(described.toSorted(), endpointsOf(api).map(pathTemplate).toSorted());
  const ids = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  assert.equal(new Set(ids).size, ids.length);
});

/** Sends the request, and asserts its status and its conformance. */
async function runStep({ endpoint, at, status = 200, options = {} }: Step): Promise<void> {
  const [method = '', path = ''] = endpoint.split(' ');
  const { body } = options;
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await api.request(
    method,
    withValues(at ?? path),
    text === undefined ? options : { ...options, body: withValues(text) },
  );
  assert.equal(answer.status, status, answer.text);
  assertConformsToOpenApi(document, endpoint, answer);
  if (status !== 200) return;
  succeeded.add(endpoint);
  if (endpoint === 'PUT /v1/acl/token') created.ACCESSOR = answer.json<{ AccessorID: string }>().AccessorID;
}

/** Replaces the placeholders with the values of `created`. */
const withValues = (text: string): string =>
  text.replaceAll(/ACCESSOR|PEERING_TOKEN/g, (name) => created[name as keyof typeof created]);

describe('a response conforms to the description:', () => {
  for (const step of steps) test(`${step.endpoint} ${step.at ?? ''}`, () => runStep(step));
});

describe('an error conforms to the description, as text and as a problem document [V1-46, V1-47]:', () => {
  for (const step of rejections) {
    test(`${step.status} ${step.endpoint} ${step.at ?? ''}`, async () => {
      await runStep(step);
      const { options = {} } = step;
      await runStep({ ...step, options: { ...options, headers: { ...options.headers, ...PROBLEM } } });
    });
  }
});

test('a blocking read has every header of its description [V1-66]', async () => {
  const sometimes = ['X-Service-Results-Filtered-By-ACLs', 'X-Service-Answered-By'];
  for (const [path, { get }] of Object.entries(document.paths)) {
    const { responses } = (get ?? {}) as { responses?: Record<string, { headers: object }> };
    const names = Object.keys(responses?.['200']?.headers ?? {}).filter((name) => !sometimes.includes(name));
    if (!names.includes('X-Service-Index')) continue;
    const at = path
      .replace('{accessor}', created.ACCESSOR)
      .replace('{name}', 'default')
      .replace('{state}', 'any')
      .replace('{kind}', 'service-intentions');
    const query = path.endsWith('/check')
      ? 'source=web&destination=db'
      : path.endsWith('/match')
        ? 'by=source&name=web'
        : '';
    const { headers } = await api.request('GET', `${at}?${names.includes('X-Cache') ? 'cached&' : ''}${query}`);
    assert.deepEqual(
      names.filter((name) => headers[name.toLowerCase()] === undefined),
      [],
      path,
    );
  }
});

test('assertConformsToOpenApi rejects responses that the description does not allow', async () => {
  const endpoint = 'GET /v1/partition/:name';
  const answer = await api.request('GET', '/v1/partition/default');
  assertConformsToOpenApi(document, endpoint, answer);
  const body = answer.json<object>();
  const checkChanged = (change: Partial<typeof answer>) => () =>
    assertConformsToOpenApi(document, endpoint, { ...answer, ...change });
  assert.throws(checkChanged({ status: 409 }), /status is not described/);
  assert.throws(checkChanged({ headers: { ...answer.headers, 'x-service-other': '1' } }), /headers are not described/);
  assert.throws(
    checkChanged({ headers: { ...answer.headers, 'content-type': 'text/html' } }),
    /text\/html is not described/,
  );
  assert.throws(checkChanged({ json: <T>() => ({ ...body, More: 1 }) as T }), /additional properties/);
  assert.throws(checkChanged({ json: <T>() => ({ ...body, Name: 1 }) as T }), /must be string/);
  assert.throws(() => assertConformsToOpenApi(document, 'DELETE /v1/partition/:name', answer), /not described/);
});

for (const service of ['peering', 'team-access'] as const) {
  test(`a server with services: ${service} serves the common endpoints and those of that service [V1-2] [TEAM-1]`, async () => {
    await using server = await startServer({ settings: { services: service } });
    const statusAt = async (at: string): Promise<number> => (await server.request('GET', at)).status;
    const common = ['/v1/acl/tokens', '/v1/partitions', '/v1/audit', '/v1/openapi.json'];
    for (const at of common) assert.equal(await statusAt(at), 200, at);
    assert.notEqual(await statusAt('/v1/operator/export'), 404);
    for (const at of ['/v1/peerings', '/v1/catalog/services', '/v1/exported-services', '/v1/operator/ca']) {
      assert.equal(await statusAt(at), service === 'peering' ? 200 : 404, at);
    }
    assert.equal(await statusAt('/api/v2/account/details'), service === 'team-access' ? 401 : 404);
  });
}

test('a request has succeeded on every endpoint that supports success', () => {
  const supported = api.server.endpoints
    .filter(({ unsupported }) => unsupported !== true)
    .map(({ method, path }) => `${method} ${path}`);
  const expected = endpointsOf(api).filter((endpoint) => supported.includes(endpoint));
  assert.deepEqual([...succeeded].toSorted(), expected.toSorted());
});
