import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';

const ID = 'b1f6a8f0-5a0c-4a53-9f43-6f1c8f0b7a11';
const token = {
  AccessorID: ID,
  Description: 'for CI',
  Partition: 'team-a',
  Grants: [
    { Resource: 'peering', Access: 'write', Partition: 'team-a', Names: ['east', 'prod-*'] },
    { Resource: 'acl', Access: 'read', Partition: '*' },
  ],
  CreateTime: '2026-01-31T00:00:00.000Z',
  CreateIndex: 7,
  ModifyIndex: 9,
};

const aclToken = (address: string, ...args: string[]): string[] => ['acl', 'token', ...args, '--address', address];

test('create sends the options and prints the secret', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: { ...token, SecretID: 'the-secret' } }));
  const outcome = await runCli(
    aclToken(
      address,
      'create',
      '--grant',
      'peering:write=east,prod-*',
      '--grant',
      'acl:read@*',
      '--partition',
      'team-a',
      '--description',
      'for CI',
      '--expiration-ttl',
      '24h',
    ),
  );
  assert.deepEqual(requests[0]?.body, {
    Description: 'for CI',
    Partition: 'team-a',
    ExpirationTTL: '24h',
    Grants: [
      { Resource: 'peering', Access: 'write', Names: ['east', 'prod-*'] },
      { Resource: 'acl', Access: 'read', Partition: '*' },
    ],
  });
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['PUT', '/v1/acl/token']);
  assert.equal(outcome.exitCode, 0);
  assert.equal(
    outcome.stdout,
    [
      `Accessor ID  ${ID}`,
      'Secret ID    the-secret',
      'Description  for CI',
      'Partition    team-a',
      'Expires      never',
      'Created      2026-01-31T00:00:00.000Z',
      'Grants       peering:write@team-a=east,prod-*',
      '             acl:read@*',
      '',
    ].join('\n'),
  );
  assert.match(outcome.stderr, /not shown again/);
});

test('create omits missing options', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: token }));
  await runCli(aclToken(address, 'create', '--grant', 'peering:read'));
  assert.deepEqual(requests[0]?.body, { Grants: [{ Resource: 'peering', Access: 'read' }] });
});

test('create rejects a missing or invalid grant without a request', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: token }));
  for (const args of [[], ['--grant', 'peer:read']]) {
    assert.equal((await runCli(aclToken(address, 'create', ...args))).exitCode, 2);
  }
  assert.equal(requests.length, 0);
});

test('read prints a token, with --json as JSON', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: token }));
  assert.match((await runCli(aclToken(address, 'read', ID))).stdout, /^Accessor ID {2}b1f6a8f0/);
  assert.deepEqual(JSON.parse((await runCli(aclToken(address, 'read', ID, '--json'))).stdout), token);
  assert.equal(requests[0]?.path, `/v1/acl/token/${ID}`);
});

test('read encodes the accessor ID', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: token }));
  await runCli(aclToken(address, 'read', 'a/b?c'));
  assert.equal(requests[0]?.path, '/v1/acl/token/a%2Fb%3Fc');
});

test('self prints the token that the command uses', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: token }));
  assert.match((await runCli(aclToken(address, 'self'))).stdout, /Partition {4}team-a/);
  assert.equal(requests[0]?.path, '/v1/acl/token/self');
});

test('update sends only the given properties', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: token }));
  assert.equal((await runCli(aclToken(address, 'update', ID, '--description', 'new'))).exitCode, 0);
  assert.equal((await runCli(aclToken(address, 'update', ID, '--grant', 'config:read'))).exitCode, 0);
  assert.deepEqual(
    requests.map(({ method, path, body }) => [method, path, body]),
    [
      ['PUT', `/v1/acl/token/${ID}`, { Description: 'new' }],
      ['PUT', `/v1/acl/token/${ID}`, { Grants: [{ Resource: 'config', Access: 'read' }] }],
    ],
  );
});

test('update without a property is a usage error', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: token }));
  assert.equal((await runCli(aclToken(address, 'update', ID))).exitCode, 2);
  assert.equal(requests.length, 0);
});

test('list prints one line per token of the given partition', async (t) => {
  const expiring = { ...token, Description: '', Grants: [], ExpirationTime: '2026-02-01T00:00:00Z' };
  const { address, requests } = await startStubServer(t, () => ({ body: [token, expiring] }));
  const { stdout } = await runCli(aclToken(address, 'list', '--partition', '*'));
  assert.equal(requests[0]?.path, '/v1/acl/tokens?partition=*&limit=1000');
  const [header, first, second] = stdout.split('\n');
  assert.match(header ?? '', /^ACCESSOR ID +PARTITION +EXPIRES +GRANTS +DESCRIPTION$/);
  assert.match(first ?? '', / never +peering:write@team-a=east,prod-\* acl:read@\* +for CI$/);
  assert.match(second ?? '', / 2026-02-01T00:00:00Z$/);
});

test('list requests further pages of a long list [SRV-122]', async (t) => {
  const token = (AccessorID: string) => ({ AccessorID, Partition: 'default', Grants: [], Description: '' });
  const pages = [Array.from({ length: 1_000 }, (_, i) => token(`a-${i}`)), [token('b')]];
  const { address, requests } = await startStubServer(t, ({ path }) => ({
    body: pages[path.includes('after') ? 1 : 0],
  }));
  const { stdout } = await runCli(['acl', 'token', 'list', '--json', '--address', address]);
  assert.equal((JSON.parse(stdout) as unknown[]).length, 1_001);
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/v1/acl/tokens?limit=1000', '/v1/acl/tokens?limit=1000&after=a-999'],
  );
});
