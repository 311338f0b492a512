/** Protection of a loopback server without ACLs from DNS rebinding. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from '../support/process/server.ts';

test('a loopback server without ACLs rejects a Host that is neither local nor an allowed origin [SRV-61]', async () => {
  const settings = { 'acl.enabled': 'false', 'http.allowed-origins': 'https://accord.example' };
  await using server = await startServer({ settings });
  const status = async (host: string): Promise<number> =>
    (await server.request('GET', '/v1/acl/tokens', { headers: { host } })).status;
  const hosts = ['localhost:8500', 'accord.example', 'evil.example:8500'];
  assert.deepEqual(await Promise.all(hosts.map(status)), [200, 200, 403]);
});
