import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accord, type Received, type Reply, startServer } from '../../../../test/support/process/cli-harness.ts';

const partition = { Name: 'team-a', Description: 'for A', CreateIndex: 7, ModifyIndex: 9 };
const there = (): Reply => ({ body: partition });
const missing = ({ method }: Received): Reply =>
  method === 'GET' ? { status: 404, body: 'no such partition' } : { body: partition };

const command = (address: string, ...args: string[]): string[] => ['partition', ...args, '--address', address];

test('create puts a partition that is not there', async (t) => {
  const { address, requests } = await startServer(t, missing);
  const { exitCode, stdout } = await accord(command(address, 'create', 'team-a', '--description', 'for A'));
  assert.equal(exitCode, 0);
  assert.match(stdout, /^Name {10}team-a\nDescription {3}for A\n/);
  assert.deepEqual(requests.at(-1), {
    ...requests.at(-1),
    method: 'PUT',
    path: '/v1/partition/team-a',
    body: { Description: 'for A' },
  });
});

test('create changes nothing that is there', async (t) => {
  const { address, requests } = await startServer(t, there);
  const { exitCode, stderr } = await accord(command(address, 'create', 'team-a'));
  assert.equal(exitCode, 1);
  assert.match(stderr, /partition "team-a" exists already/);
  assert.ok(requests.every(({ method }) => method === 'GET'));
});

test('update changes what is there and makes nothing new', async (t) => {
  const known = await startServer(t, there);
  assert.equal((await accord(command(known.address, 'update', 'team-a', '--description', 'x'))).exitCode, 0);
  assert.deepEqual(known.requests.at(-1)?.body, { Description: 'x' });
  const unknown = await startServer(t, missing);
  const { exitCode, stderr } = await accord(command(unknown.address, 'update', 'team-b', '--description', 'x'));
  assert.deepEqual([exitCode, stderr.includes('no such partition')], [1, true]);
  assert.ok(unknown.requests.every(({ method }) => method === 'GET'));
});

test('update needs what to change', async () => {
  const { exitCode, stderr } = await accord(['partition', 'update', 'team-a']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /required option '--description <text>' not specified/);
});

test('read, list and delete ask for what they show', async (t) => {
  const { address, requests } = await startServer(t, ({ path }) => ({
    body: path === '/v1/partitions' ? [partition] : partition,
  }));
  assert.match((await accord(command(address, 'read', 'team-a'))).stdout, /Modify index {2}9\n$/);
  assert.equal((await accord(command(address, 'list'))).stdout, 'NAME    DESCRIPTION\nteam-a  for A\n');
  assert.deepEqual(JSON.parse((await accord(command(address, 'list', '--json'))).stdout), [partition]);
  assert.deepEqual((await accord(command(address, 'delete', 'team-a'))).stdout, '');
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path}`),
    [
      ...['GET /v1/partition/team-a', 'GET /v1/partitions', 'GET /v1/partitions'],
      ...['GET /v1/partition/team-a', 'DELETE /v1/partition/team-a'],
    ],
  );
});
