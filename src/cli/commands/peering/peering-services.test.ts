import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';

const command = (address: string, ...args: string[]): string[] => ['peering', ...args, '--address', address];

test('exported-services prints services and those too large to send', async (t) => {
  const body = [
    { Service: 'db', Instances: 9_000, TooLarge: { Bytes: 9_437_184, Limit: 8_388_608 } },
    { Service: 'web', Instances: 2 },
  ];
  const { address, requests } = await startStubServer(t, () => ({ body }));
  const { exitCode, stdout } = await runCli(command(address, 'exported-services', 'east', '--partition', 'eu'));
  assert.deepEqual([exitCode, requests[0]?.path], [0, '/v1/peering/east/exported-services?partition=eu']);
  assert.equal(
    stdout,
    'SERVICE  INSTANCES  PROBLEM\n' +
      'db       9000       not sent: 9437184 bytes exceed the message limit of 8388608 bytes\n' +
      'web      2\n',
  );
});

test('imported-services prints services and the reason of a rejection', async (t) => {
  const since = '2026-01-02T03:04:05.000Z';
  const body = [{ Service: 'web', Instances: 0, Refused: { Reason: 'too large for the store', Since: since } }];
  const { address, requests } = await startStubServer(t, () => ({ body }));
  const { exitCode, stdout } = await runCli(command(address, 'imported-services', 'east'));
  assert.deepEqual([exitCode, requests[0]?.path], [0, '/v1/peering/east/imported-services']);
  assert.equal(
    stdout,
    `SERVICE  INSTANCES  PROBLEM\nweb      0          rejected since ${since}: too large for the store\n`,
  );
});

test('exported-services and imported-services print the response with --json', async (t) => {
  const body = [{ Service: 'web', Instances: 2 }];
  const { address } = await startStubServer(t, () => ({ body }));
  for (const name of ['exported-services', 'imported-services']) {
    const { stdout } = await runCli(command(address, name, 'east', '--json'));
    assert.deepEqual(JSON.parse(stdout), body);
  }
});
