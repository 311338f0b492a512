import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accord, startServer } from '../../../../test/support/process/cli-harness.ts';

const command = (address: string, ...args: string[]): string[] => ['peering', ...args, '--address', address];

test('exported-services shows what the peer gets, and what no message can carry', async (t) => {
  const body = [
    { Service: 'db', Instances: 9_000, TooLarge: { Bytes: 9_437_184, Limit: 8_388_608 } },
    { Service: 'web', Instances: 2 },
  ];
  const { address, requests } = await startServer(t, () => ({ body }));
  const { exitCode, stdout } = await accord(command(address, 'exported-services', 'east', '--partition', 'eu'));
  assert.deepEqual([exitCode, requests[0]?.path], [0, '/v1/peering/east/exported-services?partition=eu']);
  assert.equal(
    stdout,
    'SERVICE  INSTANCES  PROBLEM\n' +
      'db       9000       not sent: 9437184 bytes are more than the 8388608 of a message\n' +
      'web      2\n',
  );
});

test('imported-services shows what came from the peer, and why something could not be taken', async (t) => {
  const since = '2026-01-02T03:04:05.000Z';
  const body = [{ Service: 'web', Instances: 0, Refused: { Reason: 'too large for the store', Since: since } }];
  const { address, requests } = await startServer(t, () => ({ body }));
  const { exitCode, stdout } = await accord(command(address, 'imported-services', 'east'));
  assert.deepEqual([exitCode, requests[0]?.path], [0, '/v1/peering/east/imported-services']);
  assert.equal(
    stdout,
    `SERVICE  INSTANCES  PROBLEM\nweb      0          refused since ${since}: too large for the store\n`,
  );
});

test('both give the answer as it is when JSON is asked for', async (t) => {
  const body = [{ Service: 'web', Instances: 2 }];
  const { address } = await startServer(t, () => ({ body }));
  for (const name of ['exported-services', 'imported-services']) {
    const { stdout } = await accord(command(address, name, 'east', '--json'));
    assert.deepEqual(JSON.parse(stdout), body);
  }
});
