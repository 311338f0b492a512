import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';

const EXPLANATION = {
  Service: 'web',
  Peer: 'east',
  Server: 'b',
  Outgoing: {
    Arrives: false,
    StopsAt: 'exported',
    Steps: [
      { Step: 'registered', Status: 'passed', Detail: '1 instance' },
      { Step: 'exported', Status: 'failed', Detail: 'the partition has no exported-services entry' },
      { Step: 'peering', Status: 'skipped' },
    ],
  },
  Incoming: { Arrives: true, Steps: [{ Step: 'peering', Status: 'passed', Detail: 'ACTIVE' }] },
};

test('explain prints both directions and the step at which the service stops', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: EXPLANATION }));
  const { exitCode, stdout } = await runCli([
    ...['service', 'explain', 'a b', '--peer', 'east'],
    ...['--partition', 'eu', '--address', address],
  ]);
  assert.deepEqual([exitCode, requests[0]?.path], [0, '/v1/peering/east/explain?service=a+b&partition=eu']);
  assert.equal(
    stdout,
    [
      'web from this cluster to east: stops at "exported"',
      'STEP        STATUS  RESULT',
      'registered  passed  1 instance',
      'exported    failed  the partition has no exported-services entry',
      '',
      'web from east to this cluster: arrives',
      'STEP     STATUS  RESULT',
      'peering  passed  ACTIVE',
      '',
      'Server b has the stream. Send the command to that server for details.',
      '',
    ].join('\n'),
  );
});

test('explain prints that the result is unknown to this server', async (t) => {
  const Steps = [{ Step: 'sent', Status: 'unknown', Detail: 'server b holds the stream, and it alone knows: ask it' }];
  const { address } = await startStubServer(t, () => ({ body: { ...EXPLANATION, Outgoing: { Steps } } }));
  const { exitCode, stdout } = await runCli(['service', 'explain', 'web', '--peer', 'east', '--address', address]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^web from this cluster to east: unknown to this server$/m);
  assert.doesNotMatch(stdout, /stops/);
});

test('explain --json prints the response', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: EXPLANATION }));
  const { stdout } = await runCli(['service', 'explain', 'web', '--peer', 'east', '--json', '--address', address]);
  assert.deepEqual(JSON.parse(stdout), EXPLANATION);
});

test('explain requires --peer', async () => {
  const { exitCode, stderr } = await runCli(['service', 'explain', 'web']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /--peer/);
});
