import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accord, startServer } from '../../../../test/support/process/cli-harness.ts';

const passed = { ID: 'dns', Address: 'east.example:8503', Status: 'passed', Detail: '10.0.0.1', DurationMs: 3 };
const failed = {
  ...{ ID: 'tcp', Address: 'east.example:8503', Status: 'failed', Code: 'tcp-refused', Cause: 'nothing listens there' },
  ...{ Mend: 'start the server there', Detail: 'connect ECONNREFUSED 10.0.0.1:8503' },
};
const skipped = { ID: 'tls', Address: 'east.example:8503', Status: 'skipped' };
const bad = { Name: 'east', Healthy: false, Checks: [passed, failed, skipped] };

const check = (address: string, ...args: string[]): string[] => ['peering', 'check', ...args, '--address', address];

test('check shows what was tried, and below it what to do', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: bad }));
  assert.deepEqual(await accord(check(address, 'east', '--partition', 'eu')), {
    exitCode: 1,
    stdout: [
      'STATUS  CHECK  ADDRESS            WHAT WAS FOUND',
      'passed  dns    east.example:8503  10.0.0.1',
      'failed  tcp    east.example:8503  nothing listens there: connect ECONNREFUSED 10.0.0.1:8503',
      '',
      'What to do:',
      '  tcp east.example:8503: start the server there',
      '',
    ].join('\n'),
    stderr: 'accord: peering east cannot connect\n',
  });
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['GET', '/v1/peering/east/check?partition=eu']);
});

test('check of a token sends it in the body, and is done when all is well', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: { Healthy: true, Checks: [passed] } }));
  const { exitCode, stdout, stderr } = await accord(check(address, '--token-file', '-'), { stdin: 'the token\n' });
  assert.deepEqual([exitCode, stderr], [0, '']);
  assert.doesNotMatch(stdout, /What to do/);
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['POST', '/v1/peering/check']);
  assert.deepEqual(requests[0]?.body, { PeeringToken: 'thetoken' });
});

test('check --json gives everything, with the same exit code', async (t) => {
  const { address } = await startServer(t, () => ({ body: bad }));
  const { exitCode, stdout } = await accord(check(address, 'east', '--json'));
  assert.deepEqual([exitCode, JSON.parse(stdout)], [1, bad]);
});

test('check wants a name or a token', async () => {
  for (const args of [['check'], ['check', 'east', '--token-file', 'x']]) {
    const { exitCode, stderr } = await accord(['peering', ...args]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /want the name of a peering, or --token-file, and not both/);
  }
});

test('what another cluster said cannot command the terminal', async (t) => {
  const rude = { ...failed, Detail: 'x\u001b[2J', Mend: 'y\u001b[2J' };
  const { address } = await startServer(t, () => ({ body: { Healthy: false, Checks: [rude] } }));
  assert.ok(!(await accord(check(address, 'east'))).stdout.includes('\u001b'));
});
