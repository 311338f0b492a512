import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  runCli,
  type StubRequest,
  type StubResponse,
  startStubServer,
} from '../../../../test/support/process/cli-harness.ts';

const partition = { Name: 'team-a', Description: 'for A', CreateIndex: 7, ModifyIndex: 9 };
const there = (): StubResponse => ({ body: partition });
const missing = ({ method }: StubRequest): StubResponse =>
  method === 'GET' ? { status: 404, body: 'no such partition' } : { body: partition };

const command = (address: string, ...args: string[]): string[] => ['partition', ...args, '--address', address];

test('create writes a missing partition', async (t) => {
  const { address, requests } = await startStubServer(t, missing);
  const { exitCode, stdout } = await runCli(command(address, 'create', 'team-a', '--description', 'for A'));
  assert.equal(exitCode, 0);
  assert.match(stdout, /^Name {10}team-a\nDescription {3}for A\n/);
  assert.deepEqual(requests.at(-1), {
    ...requests.at(-1),
    method: 'PUT',
    path: '/v1/partition/team-a',
    body: { Description: 'for A' },
  });
});

test('create fails if the partition exists', async (t) => {
  const { address, requests } = await startStubServer(t, there);
  const { exitCode, stderr } = await runCli(command(address, 'create', 'team-a'));
  assert.equal(exitCode, 1);
  assert.match(stderr, /partition "team-a" already exists/);
  assert.ok(requests.every(({ method }) => method === 'GET'));
});

test('update changes an existing partition and creates none', async (t) => {
  const known = await startStubServer(t, there);
  assert.equal((await runCli(command(known.address, 'update', 'team-a', '--description', 'x'))).exitCode, 0);
  assert.deepEqual(known.requests.at(-1)?.body, { Description: 'x' });
  const unknown = await startStubServer(t, missing);
  const { exitCode, stderr } = await runCli(command(unknown.address, 'update', 'team-b', '--description', 'x'));
  assert.deepEqual([exitCode, stderr.includes('no such partition')], [1, true]);
  assert.ok(unknown.requests.every(({ method }) => method === 'GET'));
});

test('update requires --description', async () => {
  const { exitCode, stderr } = await runCli(['partition', 'update', 'team-a']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /required option '--description <text>' not specified/);
});

test('read, list, and delete send the expected requests', async (t) => {
  const { address, requests } = await startStubServer(t, ({ path }) => ({
    body: path === '/v1/partitions' ? [partition] : partition,
  }));
  assert.match((await runCli(command(address, 'read', 'team-a'))).stdout, /Modify index {2}9\n$/);
  assert.equal((await runCli(command(address, 'list'))).stdout, 'NAME    DESCRIPTION\nteam-a  for A\n');
  assert.deepEqual(JSON.parse((await runCli(command(address, 'list', '--json'))).stdout), [partition]);
  assert.deepEqual((await runCli(command(address, 'delete', 'team-a'))).stdout, '');
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path}`),
    [
      ...['GET /v1/partition/team-a', 'GET /v1/partitions', 'GET /v1/partitions'],
      ...['GET /v1/partition/team-a', 'DELETE /v1/partition/team-a'],
    ],
  );
});
