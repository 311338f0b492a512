import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, startStubServer } from '../../../test/support/process/cli-harness.ts';

const cases = [
  [['acl', 'token', 'delete', 'a b', '--yes'], '/v1/acl/token/a%20b', 'token a b'],
  [['partition', 'delete', 'eu'], '/v1/partition/eu', 'partition eu'],
] as const;

for (const [args, path, what] of cases) {
  test(`${args.join(' ')} deletes and reports on standard error`, async (t) => {
    const { address, requests } = await startStubServer(t, () => ({ status: 200 }));
    const { exitCode, stdout, stderr } = await runCli([...args, '--address', address]);
    assert.deepEqual([exitCode, stdout, stderr], [0, '', `Deleted ${what}.\n`]);
    assert.equal(requests.at(-1)?.method, 'DELETE');
    assert.equal(requests.at(-1)?.path, path);
  });

  test(`${args.join(' ')} succeeds and reports that nothing was deleted if the resource is missing [SRV-104]`, async (t) => {
    const { address } = await startStubServer(t, ({ method }) => ({ status: method === 'GET' ? 404 : 200 }));
    const { exitCode, stdout, stderr } = await runCli([...args, '--address', address]);
    assert.deepEqual([exitCode, stdout, stderr], [0, '', `Nothing to delete: ${what} does not exist.\n`]);
  });

  test(`${args.join(' ')} prints the server's message when it is rejected`, async (t) => {
    const { address } = await startStubServer(t, ({ method }) => ({
      status: method === 'GET' ? 200 : 409,
      body: 'in use',
    }));
    const { exitCode, stderr } = await runCli([...args, '--address', address]);
    assert.deepEqual([exitCode, stderr], [1, 'accord: in use\n']);
  });
}
