import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApi } from '../../../test/support/process/api.ts';
import { request } from '../../../test/support/team-access/team-access.ts';

test('discovery endpoints need no token [TEAM-3] [TEAM-4]', async () => {
  await using api = await startApi();
  const ping = await request(api, null, 'GET', '/ping');
  assert.equal(ping.headers['x-ratelimit-limit'], undefined);
  assert.deepEqual([ping.status, ping.text, ping.headers['tfp-api-version']], [204, '', '2.6']);
  const discovered = await api.request('GET', '/.well-known/terraform.json', { token: null });
  assert.deepEqual(discovered.json(), { 'tfe.v2': '/api/v2/', 'tfe.v2.1': '/api/v2/', 'tfe.v2.2': '/api/v2/' });
});
