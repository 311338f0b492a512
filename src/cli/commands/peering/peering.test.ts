import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, type StubResponse, startStubServer } from '../../../../test/support/process/cli-harness.ts';
import type { Peering } from '../../output/peering-tables.ts';

const active: Peering = {
  ID: 'b1f6a8f0-5a0c-4a53-9f43-6f1c8f0b7a11',
  Name: 'east',
  State: 'ACTIVE',
  PeerServerAddresses: ['10.0.0.1:8503', '10.0.0.2:8503'],
  StreamStatus: { ImportedServices: null, ExportedServices: ['web', 'api'], LastHeartbeat: '2026-01-31T00:00:00.5Z' },
  Meta: { team: 'payments', cost: '7' },
  CreateIndex: 7,
  ModifyIndex: 9,
  Remote: { Partition: '', Datacenter: 'dc2' },
};
const failing: Peering = {
  ...active,
  State: 'INITIAL',
  Failing: { Since: '2026-01-31T00:02:00.5Z', Reason: 'heartbeat timeout' },
};
const { Remote: _dropped, ...kept } = active;
const deleted: Peering = { ...kept, Name: 'old', State: 'TERMINATED', DeletedAt: '2026-01-31T00:00:00.000Z' };

const command = (address: string, ...args: string[]): string[] => ['peering', ...args, '--address', address];

test('read prints the properties that have a value', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: active }));
  const { exitCode, stdout } = await runCli(command(address, 'read', 'east', '--partition', 'eu'));
  assert.deepEqual([exitCode, requests[0]?.path], [0, '/v1/peering/east?partition=eu']);
  assert.equal(
    stdout,
    [
      'Name               east',
      'ID                 b1f6a8f0-5a0c-4a53-9f43-6f1c8f0b7a11',
      'State              ACTIVE',
      'Peer addresses     10.0.0.1:8503, 10.0.0.2:8503',
      'Peer datacenter    dc2',
      'Imported services  none',
      'Exported services  web, api',
      'Last heartbeat     2026-01-31T00:00:00.5Z',
      'Meta               team=payments',
      '                   cost=7',
      'Create index       7',
      'Modify index       9',
      '',
    ].join('\n'),
  );
  assert.deepEqual(JSON.parse((await runCli(command(address, 'read', 'east', '--json'))).stdout), active);
});

test('read prints FAILING with reason and time [PEER-28]', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: failing }));
  const { stdout } = await runCli(command(address, 'read', 'east'));
  assert.match(stdout, /^State +FAILING\nReason +heartbeat timeout\nSince +2026-01-31T00:02:00.5Z$/m);
});

test('list prints one line per peering, with its problem', async (t) => {
  const { DeletedAt: _here, ...there } = deleted;
  const peerings = [active, failing, deleted, { ...there, Partition: 'eu' }];
  const { address, requests } = await startStubServer(t, () => ({ body: peerings }));
  const options = ['--state', 'ACTIVE', '--name-prefix', 'ea', '--partition', '*'];
  const { stdout } = await runCli(command(address, 'list', ...options));
  assert.equal(requests[0]?.path, '/v1/peerings?partition=*&state=ACTIVE&name-prefix=ea&limit=1000');
  assert.deepEqual(
    stdout.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | ')),
    [
      'NAME | PARTITION | STATE | PEER DATACENTER | IMPORTED | EXPORTED | NOTE',
      'east | ACTIVE | dc2 | 0 | 2',
      'east | FAILING | dc2 | 0 | 2 | heartbeat timeout, since 2026-01-31T00:02:00.5Z',
      'old | TERMINATED | 0 | 2 | deleted here at 2026-01-31T00:00:00.000Z',
      'old | eu | TERMINATED | 0 | 2 | deleted by the other cluster',
      '',
    ],
  );
});

test('read prints a peering of a server in Consul compatibility mode', async (t) => {
  const nothing = { ImportedServices: null, ExportedServices: null, LastHeartbeat: null };
  const { address } = await startStubServer(t, () => ({
    body: { ...active, State: 'PENDING', PeerServerAddresses: null, StreamStatus: nothing },
  }));
  const { exitCode, stdout } = await runCli(command(address, 'read', 'east'));
  assert.equal(exitCode, 0);
  assert.match(stdout, /^State +PENDING$/m);
  assert.match(stdout, /^Exported services +none$/m);
});

test('list --watch prints each change', async (t) => {
  const at = (index: number, body: unknown): StubResponse => ({ headers: { 'x-service-index': String(index) }, body });
  const replies = [at(5, [active]), at(6, [failing])];
  const interruption = new AbortController();
  const { address, requests } = await startStubServer(t, () => replies.shift() ?? at(6, [failing]));
  const onOutput = (text: string): void => {
    if (text.includes('FAILING')) interruption.abort();
  };
  const { exitCode, stdout } = await runCli(command(address, 'list', '--watch'), { interruption, onOutput });
  assert.equal(exitCode, 130);
  assert.match(stdout, /ACTIVE[\s\S]*FAILING/);
  assert.equal(requests[1]?.path, '/v1/peerings?index=5&wait=45s');
});

test('delete deletes a peering of the given partition', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ status: 200 }));
  const { exitCode, stderr } = await runCli(command(address, 'delete', 'east', '--partition', 'eu', '--yes'));
  assert.deepEqual([exitCode, stderr], [0, 'Deleted peering east.\n']);
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path}`),
    ['GET /v1/peering/east?partition=eu', 'DELETE /v1/peering/east?partition=eu'],
  );
});

test("read prints the server's error message; list exits with 3 if the server is unreachable", async (t) => {
  const { address } = await startStubServer(t, () => ({ status: 404, body: 'Peering not found for "east"' }));
  assert.deepEqual(await runCli(command(address, 'read', 'east')), {
    exitCode: 1,
    stdout: '',
    stderr: 'accord: Peering not found for "east"\n',
  });
  assert.equal((await runCli(command('http://127.0.0.1:1', 'list'))).exitCode, 3);
});
