import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accord, startServer } from '../../../test/support/process/cli-harness.ts';

const cases = [
  [['acl', 'token', 'delete', 'a b'], '/v1/acl/token/a%20b', 'token a b'],
  [['partition', 'delete', 'eu'], '/v1/partition/eu', 'partition eu'],
] as const;

for (const [args, path, what] of cases) {
  test(`${args.join(' ')} deletes, and says so beside the results`, async (t) => {
    const { address, requests } = await startServer(t, () => ({ status: 200 }));
    const { exitCode, stdout, stderr } = await accord([...args, '--address', address]);
    assert.deepEqual([exitCode, stdout, stderr], [0, '', `Deleted ${what}.\n`]);
    assert.equal(requests.at(-1)?.method, 'DELETE');
    assert.equal(requests.at(-1)?.path, path);
  });

  test(`${args.join(' ')} of what is not there succeeds, and says that nothing was deleted`, async (t) => {
    const { address } = await startServer(t, ({ method }) => ({ status: method === 'GET' ? 404 : 200 }));
    const { exitCode, stdout, stderr } = await accord([...args, '--address', address]);
    assert.deepEqual([exitCode, stdout, stderr], [0, '', `There is no ${what}: nothing was deleted.\n`]);
  });

  test(`${args.join(' ')} that is refused is told in the server's words`, async (t) => {
    const { address } = await startServer(t, ({ method }) => ({
      status: method === 'GET' ? 200 : 409,
      body: 'in use',
    }));
    const { exitCode, stderr } = await accord([...args, '--address', address]);
    assert.deepEqual([exitCode, stderr], [1, 'accord: in use\n']);
  });
}
