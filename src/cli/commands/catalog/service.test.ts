import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accord, startServer } from '../../../../test/support/process/cli-harness.ts';

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

test('explain shows both ways, and the step at which the service stops', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: EXPLANATION }));
  const { exitCode, stdout } = await accord([
    ...['service', 'explain', 'a b', '--peer', 'east'],
    ...['--partition', 'eu', '--address', address],
  ]);
  assert.deepEqual([exitCode, requests[0]?.path], [0, '/v1/peering/east/explain?service=a+b&partition=eu']);
  assert.equal(
    stdout,
    [
      'The web of this cluster, on its way to east: stops at "exported"',
      'STEP        STATUS  WHAT WAS FOUND',
      'registered  passed  1 instance',
      'exported    failed  the partition has no exported-services entry',
      '',
      'The web of east, on its way to this cluster: arrives',
      'STEP     STATUS  WHAT WAS FOUND',
      'peering  passed  ACTIVE',
      '',
      'Server b holds the stream and can tell more: ask that one.',
      '',
    ].join('\n'),
  );
});

test('explain says that a server cannot tell, and not that the service stops', async (t) => {
  const Steps = [{ Step: 'sent', Status: 'unknown', Detail: 'server b holds the stream, and it alone knows: ask it' }];
  const { address } = await startServer(t, () => ({ body: { ...EXPLANATION, Outgoing: { Steps } } }));
  const { exitCode, stdout } = await accord(['service', 'explain', 'web', '--peer', 'east', '--address', address]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^The web of this cluster, on its way to east: not known to this server$/m);
  assert.doesNotMatch(stdout, /stops/);
});

test('explain gives the answer as it is when JSON is asked for', async (t) => {
  const { address } = await startServer(t, () => ({ body: EXPLANATION }));
  const { stdout } = await accord(['service', 'explain', 'web', '--peer', 'east', '--json', '--address', address]);
  assert.deepEqual(JSON.parse(stdout), EXPLANATION);
});

test('explain without a peer is wrong use', async () => {
  const { exitCode, stderr } = await accord(['service', 'explain', 'web']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /--peer/);
});
