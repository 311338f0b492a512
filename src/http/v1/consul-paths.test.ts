import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import { isConsulPath } from './consul-paths.ts';

const UNSERVED = [
  '/v1/agent/self',
  '/v1/connect/intentions',
  '/v1/connect/intentions/exact?source=web&destination=db',
  '/v1/connect/ca/roots',
  '/v1/kv/some/deep/key',
  '/v1/query/1/execute',
  '/v1/session/list',
  '/v1/status/leader',
  '/v1/acl/policy/name/web',
  '/v1/internal/ui/services',
  '/v1/operator/raft/configuration',
];
const NOT_OF_CONSUL = ['/v1/connect/intentions/a/b', '/v1/toString', '/v1/', '/v1/catalog', '/v1/statuss/leader'];

describe('paths of Consul [V1-98]', () => {
  describe('with compat: consul', () => {
    const api = sharedApi({ consul: true });

    it('return 501 with the reason for every method', async () => {
      for (const path of UNSERVED) {
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const { status, text } = await api().request(method, path);
          assert.equal(status, 501, `${method} ${path}: ${text}`);
          assert.match(text, /is a path of Consul's API that Accord does not serve/);
        }
      }
    });

    it('return 405 when an endpoint has the path, and 404 when Consul does not', async () => {
      assert.equal((await api().request('PUT', '/v1/catalog/services')).status, 405);
      assert.equal((await api().request('DELETE', '/v1/peerings')).status, 405);
      for (const path of NOT_OF_CONSUL) assert.equal((await api().request('GET', path)).status, 404, path);
    });
  });

  describe('without compat', () => {
    const api = sharedApi();

    it('return 404', async () => {
      for (const path of UNSERVED) assert.equal((await api().request('GET', path)).status, 404, path);
    });
  });

  it('include those that Accord serves too', () => {
    for (const path of ['/v1/config', '/v1/peering/token', '/v1/health/service/web'])
      assert.ok(isConsulPath(path), path);
  });
});
