import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';

const root = { ID: 'id-one', Status: 'ACTIVE', Fingerprint: 'AA:BB', NotAfter: '2036-01-01T00:00:00.000Z' };
const stable = {
  ServerName: 'server.dc1.peering.x.accord',
  Stage: 'STABLE',
  Roots: [root],
  ServerCertificate: {
    Fingerprint: 'CC:DD',
    NotAfter: '2030-04-01T00:00:00.000Z',
    RenewAfter: '2030-03-01T00:00:00.000Z',
  },
  NotAcknowledgedCount: 0,
  NotAcknowledged: [],
};
const announced = {
  ...stable,
  Stage: 'ANNOUNCED',
  StageSince: '2030-01-01T00:00:00.000Z',
  StageUntil: '2030-01-08T00:00:00.000Z',
  Roots: [root, { ...root, ID: 'id-two', Status: 'NEXT' }],
  NotAcknowledgedCount: 3,
  NotAcknowledged: [{ Name: 'east', Partition: 'default', State: 'INITIAL' }],
};

const command = (address: string, ...args: string[]): string[] => ['ca', ...args, '--address', address];

test('status prints the root and the server certificate', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: stable }));
  const { exitCode, stdout } = await runCli(command(address, 'status'));
  assert.equal(exitCode, 0);
  assert.equal(
    stdout,
    [
      'Server name         server.dc1.peering.x.accord',
      'Server certificate  CC:DD',
      'Valid until         2030-04-01T00:00:00.000Z',
      'Renewed after       2030-03-01T00:00:00.000Z',
      'Stage               STABLE: no rotation in progress',
      '',
      'STATUS  ROOT    VALID UNTIL               FINGERPRINT',
      'ACTIVE  id-one  2036-01-01T00:00:00.000Z  AA:BB',
      '',
    ].join('\n'),
  );
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path}`),
    ['GET /v1/operator/ca'],
  );
  const json = await runCli(command(address, 'status', '--json'));
  assert.deepEqual(JSON.parse(json.stdout), stable);
});

test('status prints the end of a rotation stage and the peers that have not acknowledged', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: announced }));
  const { stdout } = await runCli(command(address, 'status'));
  assert.match(stdout, /^Stage +ANNOUNCED: .*, all but 3 have acknowledged it$/m);
  assert.match(stdout, /^Until +2030-01-08T00:00:00\.000Z at the latest$/m);
  assert.match(stdout, /^NEXT +id-two/m);
  assert.ok(
    stdout.endsWith('\nNOT ACKNOWLEDGED  PARTITION  STATE\neast              default    INITIAL\nand 2 more\n'),
    stdout,
  );
});

test('rotate starts a rotation and prints its status', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: announced }));
  const { exitCode, stdout, stderr } = await runCli(command(address, 'rotate', '--yes'));
  assert.equal(exitCode, 0);
  assert.match(stdout, /ANNOUNCED/);
  assert.match(stderr, /accord ca status --watch/);
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path}`),
    ['PUT /v1/operator/ca/rotate'],
  );
});

test('rotate --back cancels the rotation', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: stable }));
  const { exitCode, stdout, stderr } = await runCli(command(address, 'rotate', '--yes', '--back', '--json'));
  assert.deepEqual([exitCode, JSON.parse(stdout), stderr], [0, stable, '']);
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path}`),
    ['DELETE /v1/operator/ca/rotate'],
  );
});

test("rotate prints the server's message when it is rejected", async (t) => {
  const { address } = await startStubServer(t, () => ({ status: 409, body: 'a rotation is under way' }));
  const { exitCode, stdout, stderr } = await runCli(command(address, 'rotate', '--yes'));
  assert.deepEqual([exitCode, stdout], [1, '']);
  assert.match(stderr, /a rotation is under way/);
});
