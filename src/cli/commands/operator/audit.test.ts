import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accord, startServer } from '../../../../test/support/process/cli-harness.ts';

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

test('audit asks from a time on and for so many, and shows a line an entry', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: [entry] }));
  const args = ['audit', '--since', '2026-01-31T00:00:00Z', '--limit', '10', '--address', address];
  const { exitCode, stdout } = await accord(args);
  assert.equal(exitCode, 0);
  assert.equal(requests[0]?.path, '/v1/audit?since=2026-01-31T00%3A00%3A00Z&limit=10');
  assert.match(
    stdout,
    /^TIME +ACTOR +FROM +ACTION +TYPE +PARTITION +SUBJECT\n2026-01-31T\S+ +system +create +partition +team-a +team-a\n$/,
  );
  assert.deepEqual(JSON.parse((await accord([...args, '--json'])).stdout), [entry]);
});

test('audit without options asks for a hundred', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: [] }));
  await accord(['audit', '--address', address]);
  assert.equal(requests[0]?.path, '/v1/audit?limit=100');
});

test('audit goes on where an answer ended until it has as many as it wants, or there are no more', async (t) => {
  const answers = [{ count: 2, before: 'b' }, { count: 0, before: 'a' }, { count: 1 }];
  let asked = 0;
  const { address, requests } = await startServer(t, () => {
    const { count = 0, before } = answers[asked++] ?? {};
    return {
      body: Array(count).fill(entry),
      ...(before === undefined ? {} : { headers: { 'x-service-before': before } }),
    };
  });
  const { stdout } = await accord(['audit', '--limit', '5', '--json', '--address', address]);
  assert.equal(JSON.parse(stdout).length, 3);
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/v1/audit?limit=5', '/v1/audit?limit=3&before=b', '/v1/audit?limit=3&before=a'],
  );
  asked = 0;
  await accord(['audit', '--limit', '2', '--address', address]);
  assert.equal(requests.length, 4);
});

test('a limit is a whole number from 1 on', async () => {
  for (const limit of ['0', '-1', 'x', '1.5'])
    assert.equal((await accord(['audit', '--limit', limit])).exitCode, 2, limit);
});
