import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accord, startServer } from '../../../../test/support/process/cli-harness.ts';

const allowed = {
  Allowed: true,
  Reason: 'service-intentions "db": source "web" of peer "east", allow',
  Intention: { SourceName: 'web', SourcePeer: 'east', Precedence: 9, Description: 'reports' },
};
const denied = { Allowed: false, Reason: 'no intention matches, and acl.default-policy is deny' };

test('intention check says what decides', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: allowed }));
  const args = ['intention', 'check', '--source', 'web', '--source-peer', 'east', '--destination', 'db'];
  const { exitCode, stdout } = await accord([...args, '--partition', 'eu', '--address', address]);
  assert.equal(exitCode, 0);
  assert.equal(stdout, `Call         allowed\nBecause      ${allowed.Reason}\nPrecedence   9\nDescription  reports\n`);
  const path = '/v1/connect/intentions/check?source=web&source-peer=east&destination=db&partition=eu';
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['GET', path]);
  assert.deepEqual(JSON.parse((await accord([...args, '--json', '--address', address])).stdout), allowed);
});

test('intention check fails for a call that is denied', async (t) => {
  const { address } = await startServer(t, () => ({ body: denied }));
  const args = ['intention', 'check', '--source', 'web', '--destination', 'db', '--address', address];
  const { exitCode, stdout, stderr } = await accord(args);
  assert.deepEqual([exitCode, stderr], [1, 'accord: web may not call db\n']);
  assert.equal(stdout, `Call     denied\nBecause  ${denied.Reason}\n`);
});

test('intention check needs both services', async () => {
  const { exitCode, stderr } = await accord(['intention', 'check', '--source', 'web']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /required option '--destination <service>' not specified/);
});
