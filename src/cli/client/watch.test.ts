import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli, type StubResponse, startStubServer } from '../../../test/support/process/cli-harness.ts';

const partition = (description: string): unknown => [
  { Name: 'a', Description: description, CreateIndex: 1, ModifyIndex: 1 },
];
const at = (index: number, description: string): StubResponse => ({
  headers: { 'x-service-index': String(index) },
  body: partition(description),
});

const watching = (address: string, ...more: string[]): string[] => [
  'partition',
  'list',
  '--watch',
  '--address',
  address,
  ...more,
];

test('--watch queries from the last index and prints each change once [SRV-102]', async (t) => {
  const replies = [at(5, 'one'), at(6, 'one'), at(9, 'two')];
  const interruption = new AbortController();
  const { address, requests } = await startStubServer(t, () => replies.shift() ?? at(9, 'two'));
  const onOutput = (stdout: string): void => {
    if (stdout.includes('two')) interruption.abort();
  };
  const { exitCode, stdout } = await runCli(watching(address, '--json'), { interruption, onOutput });
  assert.equal(exitCode, 130);
  assert.deepEqual(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    [partition('one'), partition('two')],
  );
  assert.deepEqual(
    requests.slice(0, 3).map(({ path }) => path),
    ['/v1/partitions', '/v1/partitions?index=5&wait=45s', '/v1/partitions?index=6&wait=45s'],
  );
});

test('--watch retries with growing pauses when the server returns 503 [SRV-102]', async (t) => {
  const interruption = new AbortController();
  const down = { status: 503, body: 'the store cannot be reached' };
  const replies: StubResponse[] = [at(5, 'one'), down, down];
  const { address } = await startStubServer(t, () => replies.shift() ?? at(6, 'two'));
  const pauses: number[] = [];
  const { stderr, stdout } = await runCli(watching(address), {
    interruption,
    onOutput: (text) => text.includes('two') && interruption.abort(),
    pause: (ms) => {
      pauses.push(ms);
      return Promise.resolve();
    },
  });
  assert.match(stdout, /one[\s\S]*two/);
  assert.equal(stderr.match(/the store cannot be reached; retrying/g)?.length, 2);
  assert.deepEqual(
    pauses.filter((ms) => ms >= 1_000),
    [1_000, 2_000],
  );
});

test('--watch ends when the server rejects a query [SRV-102]', async (t) => {
  const replies = [at(5, 'one'), { status: 403, body: 'ACL not found' }];
  const { address } = await startStubServer(t, () => replies.shift() ?? {});
  const { exitCode, stderr } = await runCli(watching(address));
  assert.equal(exitCode, 1);
  assert.match(stderr, /^accord: ACL not found/);
});

test('--watch does not retry the first query', async () => {
  assert.equal((await runCli(watching('http://127.0.0.1:1'))).exitCode, 3);
});

test('--watch fails if the response has no index', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: [] }));
  const { exitCode, stderr } = await runCli(watching(address));
  assert.equal(exitCode, 1);
  assert.match(stderr, /no X-Service-Index/);
});
