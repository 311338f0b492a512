import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';

const entry = {
  Time: '2026-01-31T00:00:00.000Z',
  Actor: 'system',
  Address: '',
  Action: 'create',
  Type: 'partition',
  Subject: 'team-a',
  Partition: 'team-a',
  Before: null,
  After: { Name: 'team-a' },
};

test('audit sends --since and --limit and prints one line per entry', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: [entry] }));
  const args = ['audit', '--since', '2026-01-31T00:00:00Z', '--limit', '10', '--address', address];
  const { exitCode, stdout } = await runCli(args);
  assert.equal(exitCode, 0);
  assert.equal(requests[0]?.path, '/v1/audit?since=2026-01-31T00%3A00%3A00Z&limit=10');
  assert.match(
    stdout,
    /^TIME +ACTOR +FROM +ACTION +TYPE +PARTITION +SUBJECT\n2026-01-31T\S+ +system +create +partition +team-a +team-a\n$/,
  );
  assert.deepEqual(JSON.parse((await runCli([...args, '--json'])).stdout), [entry]);
});

test('audit requests 100 entries by default', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: [] }));
  await runCli(['audit', '--address', address]);
  assert.equal(requests[0]?.path, '/v1/audit?limit=100');
});

test('audit continues until the limit or the end of the log [SRV-107]', async (t) => {
  const pages = [{ count: 2, before: 'b' }, { count: 0, before: 'a' }, { count: 1 }];
  let requestCount = 0;
  const { address, requests } = await startStubServer(t, () => {
    const { count = 0, before } = pages[requestCount++] ?? {};
    return {
      body: Array(count).fill(entry),
      ...(before === undefined ? {} : { headers: { 'x-service-before': before } }),
    };
  });
  const { stdout } = await runCli(['audit', '--limit', '5', '--json', '--address', address]);
  assert.equal(JSON.parse(stdout).length, 3);
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/v1/audit?limit=5', '/v1/audit?limit=3&before=b', '/v1/audit?limit=3&before=a'],
  );
  requestCount = 0;
  await runCli(['audit', '--limit', '2', '--address', address]);
  assert.equal(requests.length, 4);
});

test('audit rejects a limit that is not a positive integer', async () => {
  for (const limit of ['0', '-1', 'x', '1.5'])
    assert.equal((await runCli(['audit', '--limit', limit])).exitCode, 2, limit);
});
