import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accord, type Received, type Reply, startServer } from '../../../../test/support/process/cli-harness.ts';

const headers = { 'x-service-knownleader': 'true', 'x-service-lastcontact': '0' };

/** A server that is well, but for what `changes` says. */
const server =
  (changes: Readonly<Record<string, Reply>> = {}) =>
  ({ path }: Received): Reply => {
    const replies: Readonly<Record<string, Reply>> = {
      '/healthz': { body: 'ok' },
      '/readyz': { body: 'ready' },
      '/version': { body: { Version: '1.13.0' } },
      '/metrics': { body: '# a comment\naccord_state_index 42\n' },
      '/v1/acl/token/self?stale': { headers, body: {} },
      ...changes,
    };
    return replies[path] ?? { status: 404 };
  };

const status = (address: string, ...more: string[]): string[] => ['status', '--address', address, ...more];

test('a server that is well is ready and tells version, index and contact', async (t) => {
  const { address } = await startServer(t, server());
  const { exitCode, stdout } = await accord(status(address));
  assert.equal(exitCode, 0);
  assert.equal(
    stdout,
    [
      `Address  ${address}`,
      'Healthy  yes',
      'Ready    yes',
      'Version  1.13.0',
      'Index    42',
      'Store    in contact, last heard of 0 ms ago',
      '',
    ].join('\n'),
  );
});

test('a degraded server is ready, and says so', async (t) => {
  const away = { ...headers, 'x-service-knownleader': 'false', 'x-service-lastcontact': '5000' };
  const { address } = await startServer(
    t,
    server({ '/readyz': { body: 'degraded\n' }, '/v1/acl/token/self?stale': { headers: away } }),
  );
  const { exitCode, stdout } = await accord(status(address));
  assert.equal(exitCode, 0);
  assert.match(stdout, /Ready {4}yes \(degraded\)\n/);
  assert.match(stdout, /Store {4}no contact, last heard of 5000 ms ago\n/);
});

test('a server that is not ready exits with 1 after telling what there is', async (t) => {
  const { address } = await startServer(
    t,
    server({ '/readyz': { status: 503, body: 'loading' }, '/v1/acl/token/self?stale': { status: 403, body: 'no' } }),
  );
  const { exitCode, stdout, stderr } = await accord(status(address, '--json'));
  assert.equal(exitCode, 1);
  assert.deepEqual(JSON.parse(stdout), {
    address,
    healthy: true,
    ready: false,
    detail: 'loading',
    version: '1.13.0',
    index: 42,
    storeInContact: null,
    storeLastContactMs: null,
  });
  assert.equal(stderr, 'accord: the server is not ready\n');
});

test('a server that is not there exits with 3', async () => {
  assert.equal((await accord(status('http://127.0.0.1:1'))).exitCode, 3);
});

test('what only a token is told is said to be so', async (t) => {
  const { address } = await startServer(t, server({ '/v1/acl/token/self?stale': { status: 403, body: 'no' } }));
  assert.match((await accord(status(address))).stdout, /Index {4}42\nStore {4}not told without/);
  const environment = { ACCORD_TOKEN: 'unknown' };
  assert.match((await accord(status(address), { environment })).stdout, /Index {4}42\nStore {4}not told\n$/);
});
