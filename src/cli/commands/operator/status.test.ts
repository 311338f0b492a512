import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  runCli,
  type StubRequest,
  type StubResponse,
  startStubServer,
} from '../../../../test/support/process/cli-harness.ts';

const headers = { 'x-service-knownleader': 'true', 'x-service-lastcontact': '0' };

/** Returns the handler of a healthy server, with changed responses by path. */
const server =
  (changes: Readonly<Record<string, StubResponse>> = {}) =>
  ({ path }: StubRequest): StubResponse => {
    const replies: Readonly<Record<string, StubResponse>> = {
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

test('status prints readiness, version, index, and store contact', async (t) => {
  const { address } = await startStubServer(t, server());
  const { exitCode, stdout } = await runCli(status(address));
  assert.equal(exitCode, 0);
  assert.equal(
    stdout,
    [
      `Address  ${address}`,
      'Healthy  yes',
      'Ready    yes',
      'Version  1.13.0',
      'Index    42',
      'Store    in contact, last contact 0 ms ago',
      '',
    ].join('\n'),
  );
});

test('status prints a degraded server as ready', async (t) => {
  const away = { ...headers, 'x-service-knownleader': 'false', 'x-service-lastcontact': '5000' };
  const { address } = await startStubServer(
    t,
    server({ '/readyz': { body: 'degraded\n' }, '/v1/acl/token/self?stale': { headers: away } }),
  );
  const { exitCode, stdout } = await runCli(status(address));
  assert.equal(exitCode, 0);
  assert.match(stdout, /Ready {4}yes \(degraded\)\n/);
  assert.match(stdout, /Store {4}no contact, last contact 5000 ms ago\n/);
});

test('status prints the status and exits with 1 if the server is not ready [SRV-105]', async (t) => {
  const { address } = await startStubServer(
    t,
    server({ '/readyz': { status: 503, body: 'loading' }, '/v1/acl/token/self?stale': { status: 403, body: 'no' } }),
  );
  const { exitCode, stdout, stderr } = await runCli(status(address, '--json'));
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

test('status exits with 3 if the server is unreachable', async () => {
  assert.equal((await runCli(status('http://127.0.0.1:1'))).exitCode, 3);
});

test('status prints that the store contact requires a token', async (t) => {
  const { address } = await startStubServer(t, server({ '/v1/acl/token/self?stale': { status: 403, body: 'no' } }));
  assert.match((await runCli(status(address))).stdout, /Index {4}42\nStore {4}unknown \(requires a token\)\n/);
  const environment = { ACCORD_TOKEN: 'unknown' };
  assert.match((await runCli(status(address), { environment })).stdout, /Index {4}42\nStore {4}unknown\n$/);
});
