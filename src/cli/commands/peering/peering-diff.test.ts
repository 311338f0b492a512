import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';

const Digest = { Index: 7, Time: '2026-01-02T03:04:05.000Z', Received: '2026-01-02T03:04:06.000Z' };
const diff = (address: string, ...more: string[]): string[] => [
  'peering',
  'diff',
  'east',
  ...more,
  '--address',
  address,
];

test('diff prints differences and exits with 1', async (t) => {
  const Differences = [
    { Service: 'db', Difference: 'missing', Reason: 'refused here: no room' },
    { Service: 'web', Difference: 'stale' },
  ];
  const body = { Peer: 'east', Comparable: true, Digest, Differences };
  const { address, requests } = await startStubServer(t, () => ({ body }));
  const { exitCode, stdout, stderr } = await runCli(diff(address, '--partition', 'eu'));
  assert.deepEqual([exitCode, requests[0]?.path], [1, '/v1/peering/east/diff?partition=eu']);
  assert.equal(stdout, 'SERVICE  DIFFERENCE  REASON\ndb       missing     refused here: no room\nweb      stale\n');
  assert.equal(stderr, 'accord: 2 services differ\n');
  assert.deepEqual(JSON.parse((await runCli(diff(address, '--json'))).stdout), body);
});

test('diff reports that nothing differs', async (t) => {
  const body = { Peer: 'east', Comparable: true, Digest, Differences: [] };
  const { address } = await startStubServer(t, () => ({ body }));
  const { exitCode, stdout } = await runCli(diff(address));
  assert.deepEqual(
    [exitCode, stdout],
    [0, `No differences from the digest that east sent, received ${Digest.Received}.\n`],
  );
});

test('diff exits with 4 and the reason if the server cannot compare', async (t) => {
  const body = { Peer: 'east', Comparable: false, Reason: 'the peer is not an Accord cluster', Differences: [] };
  const { address } = await startStubServer(t, () => ({ body }));
  const { exitCode, stdout, stderr } = await runCli(diff(address));
  assert.deepEqual(
    [exitCode, stdout, stderr],
    [4, '', 'accord: peering east cannot be compared: the peer is not an Accord cluster\n'],
  );
});
