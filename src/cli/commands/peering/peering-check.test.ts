import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';

const passed = { ID: 'dns', Address: 'east.example:8503', Status: 'passed', Detail: '10.0.0.1', DurationMs: 3 };
const failed = {
  ...{ ID: 'tcp', Address: 'east.example:8503', Status: 'failed', Code: 'tcp-refused', Cause: 'nothing listens there' },
  ...{ Remedy: 'start the server there', Mend: 'deprecated', Detail: 'connect ECONNREFUSED 10.0.0.1:8503' },
};
const skipped = { ID: 'tls', Address: 'east.example:8503', Status: 'skipped' };
const bad = { Name: 'east', Healthy: false, Checks: [passed, failed, skipped] };

const check = (address: string, ...args: string[]): string[] => ['peering', 'check', ...args, '--address', address];

test('check prints results and remedies', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: bad }));
  assert.deepEqual(await runCli(check(address, 'east', '--partition', 'eu')), {
    exitCode: 1,
    stdout: [
      'STATUS  CHECK  ADDRESS            RESULT',
      'passed  dns    east.example:8503  10.0.0.1',
      'failed  tcp    east.example:8503  nothing listens there: connect ECONNREFUSED 10.0.0.1:8503',
      '',
      'Remedies:',
      '  tcp east.example:8503: start the server there',
      '',
    ].join('\n'),
    stderr: 'accord: peering east cannot connect\n',
  });
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['GET', '/v1/peering/east/check?partition=eu']);
});

test('check reads the remedy of an older server', async (t) => {
  const { Remedy: remedy, ...older } = failed;
  const { address } = await startStubServer(t, () => ({
    body: { Healthy: false, Checks: [{ ...older, Mend: remedy }] },
  }));
  assert.match((await runCli(check(address, 'east'))).stdout, /\nRemedies:\n {2}tcp east.*: start the server there\n$/);
});

test('check sends a token in the body and succeeds if every check passes', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: { Healthy: true, Checks: [passed] } }));
  const { exitCode, stdout, stderr } = await runCli(check(address, '--token-file', '-'), { stdin: 'the token\n' });
  assert.deepEqual([exitCode, stderr], [0, '']);
  assert.doesNotMatch(stdout, /Remedies/);
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['POST', '/v1/peering/check']);
  assert.deepEqual(requests[0]?.body, { PeeringToken: 'thetoken' });
});

test('check --json prints the response, with the same exit code', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: bad }));
  const { exitCode, stdout } = await runCli(check(address, 'east', '--json'));
  assert.deepEqual([exitCode, JSON.parse(stdout)], [1, bad]);
});

test('check requires either a name or a token', async () => {
  for (const args of [['check'], ['check', 'east', '--token-file', 'x']]) {
    const { exitCode, stderr } = await runCli(['peering', ...args]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /give the name of a peering or --token-file, not both/);
  }
});

test('check escapes control characters from another cluster', async (t) => {
  const hostile = { ...failed, Detail: 'x\u001b[2J', Remedy: 'y\u001b[2J' };
  const { address } = await startStubServer(t, () => ({ body: { Healthy: false, Checks: [hostile] } }));
  assert.ok(!(await runCli(check(address, 'east'))).stdout.includes('\u001b'));
});
