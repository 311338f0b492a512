/**
 * The query parameters of every endpoint: an endpoint accepts those that it declares and refuses every other one that
 * selects data somewhere in its API.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint } from '../../src/http/endpoint.ts';
import { sharedApi } from '../support/process/api.ts';
import { errorsOf, makeOrganization, request } from '../support/team-access/team-access.ts';

/** Parameters that every endpoint of `/v1` accepts, because Consul's clients add them to every request. */
const EVERYWHERE = ['index=0', 'wait=1s', 'stale', 'pretty', 'hash=1', 'relay-factor=1', 'merge-central-config', '_=1'];

describe('the query parameters of every endpoint', () => {
  const api = sharedApi();
  const endpointsBelow = (prefix: string): readonly Endpoint[] =>
    api().server.endpoints.filter(({ path }) => path.startsWith(prefix));
  const namesBelow = (prefix: string, others: readonly string[]): readonly string[] => {
    const declared = endpointsBelow(prefix).flatMap(({ query = [] }) => query.map(({ name }) => name));
    return [...new Set([...declared, ...others])];
  };
  const pathOf = ({ path }: Endpoint): string => path.replaceAll(/:\w+/g, 'x');
  const declares = ({ query = [] }: Endpoint, name: string): boolean => query.some((one) => one.name === name);

  test('are refused below /v1 unless declared [V1-15]', async () => {
    const others = ['filter', 'Filter', 'near', 'node-meta', 'sg', 'policy', 'cas', 'peer', 'tag'];
    let count = 0;
    for (const endpoint of endpointsBelow('/v1/')) {
      for (const name of namesBelow('/v1/', others)) {
        if (['partition', 'pretty'].includes(name) || declares(endpoint, name)) continue;
        const at = `${pathOf(endpoint)}?${encodeURIComponent(name)}=x`;
        const { status, text } = await api().request(endpoint.method, at);
        assert.equal(status, 400, `${endpoint.method} ${at}`);
        assert.ok(text.startsWith(`Invalid query parameter: "${name}" - `), `${endpoint.method} ${at}: ${text}`);
        count++;
      }
    }
    assert.ok(count > 500, `${count} requests`);
  });

  test('are accepted below /v1 if declared or without a selection [V1-15]', async () => {
    for (const endpoint of endpointsBelow('/v1/')) {
      const declared = (endpoint.query ?? []).map(({ name }) => `${encodeURIComponent(name)}=x`);
      for (const parameter of [...declared, ...EVERYWHERE, 'dc=dc1', 'dc=', 'ns=default', 'near=', 'sg=']) {
        const { text } = await api().request(endpoint.method, `${pathOf(endpoint)}?${parameter}`);
        assert.doesNotMatch(text, /^Invalid query parameter/, `${endpoint.method} ${endpoint.path} ${parameter}`);
      }
    }
  });

  test('cannot name another datacenter or namespace below /v1 [V1-93]', async () => {
    for (const endpoint of endpointsBelow('/v1/')) {
      const send = async (query: string, headers = {}) => {
        const { status, text } = await api().request(endpoint.method, `${pathOf(endpoint)}${query}`, { headers });
        return [status, text];
      };
      const reason = 'Namespaces are a Consul Enterprise feature';
      assert.deepEqual(await send('?dc=dc2'), [400, 'No path to datacenter'], endpoint.path);
      assert.deepEqual(await send('?ns=team'), [400, `Invalid query parameter: "ns" - ${reason}`], endpoint.path);
      const header = { 'x-consul-namespace': 'team' };
      assert.deepEqual(await send('', header), [400, `Invalid header: "X-Consul-Namespace" - ${reason}`]);
    }
  });

  test('are refused below /api/v2 unless declared, with the name in the source [DOC-28]', async () => {
    const others = ['filter[tags]', 'search[tags]', 'sort', 'include', 'fields[teams]', 'page[after]', 'Filter[names]'];
    let count = 0;
    for (const endpoint of endpointsBelow('/api/v2/')) {
      if (endpoint.path === '/api/v2/openapi.json') continue;
      for (const name of namesBelow('/api/v2/', others)) {
        if (name === 'pretty' || declares(endpoint, name)) continue;
        const at = `${pathOf(endpoint).slice('/api/v2'.length)}?${encodeURIComponent(name)}=x`;
        const headers = endpoint.bodyType === undefined ? {} : { 'content-type': endpoint.bodyType };
        const answer = await request(api(), api().adminToken, endpoint.method, at, { headers });
        assert.equal(answer.status, 400, `${endpoint.method} ${at}`);
        const [error] = errorsOf(answer);
        assert.deepEqual(error?.['source'], { parameter: name }, `${endpoint.method} ${at}`);
        assert.match(String(error?.['detail']), /^Invalid [\w-]+ parameter/);
        count++;
      }
    }
    assert.ok(count > 500, `${count} requests`);
  });

  test('are refused below /api/v2 only after authentication [TEAM-27]', async () => {
    assert.equal((await request(api(), null, 'GET', '/organizations?filter[tags]=x')).status, 401);
  });

  test('have one value below /api/v2 if they select data [TEAM-23]', async () => {
    await makeOrganization(api(), api().adminToken, 'twice');
    const at = '/organizations/twice/teams?filter[names]=a&filter[names]=b';
    const answer = await request(api(), api().adminToken, 'GET', at);
    assert.equal(answer.status, 400);
    assert.deepEqual(errorsOf(answer)[0]?.['source'], { parameter: 'filter[names]' });
  });
});
