import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';

const allowed = {
  Allowed: true,
  Reason: 'service-intentions "db": source "web" of peer "east", allow',
  Intention: { SourceName: 'web', SourcePeer: 'east', Precedence: 9, Description: 'reports' },
};
const denied = { Allowed: false, Reason: 'no intention matches, and acl.default-policy is deny' };

test('intention check prints the deciding rule', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: allowed }));
  const args = ['intention', 'check', '--source', 'web', '--source-peer', 'east', '--destination', 'db'];
  const { exitCode, stdout } = await runCli([...args, '--partition', 'eu', '--address', address]);
  assert.equal(exitCode, 0);
  assert.equal(stdout, `Call         allowed\nReason       ${allowed.Reason}\nPrecedence   9\nDescription  reports\n`);
  const path = '/v1/connect/intentions/check?source=web&source-peer=east&destination=db&partition=eu';
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['GET', path]);
  assert.deepEqual(JSON.parse((await runCli([...args, '--json', '--address', address])).stdout), allowed);
});

test('intention check exits with 1 if the call is denied', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: denied }));
  const args = ['intention', 'check', '--source', 'web', '--destination', 'db', '--address', address];
  const { exitCode, stdout, stderr } = await runCli(args);
  assert.deepEqual([exitCode, stderr], [1, 'accord: web may not call db\n']);
  assert.equal(stdout, `Call    denied\nReason  ${denied.Reason}\n`);
});

test('intention check requires both services', async () => {
  const { exitCode, stderr } = await runCli(['intention', 'check', '--source', 'web']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /required option '--destination <service>' not specified/);
});
