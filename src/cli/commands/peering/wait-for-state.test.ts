import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { runCli, type StubResponse, startStubServer } from '../../../../test/support/process/cli-harness.ts';
import { WATCH_PAUSE_MS } from '../../limits.ts';

const peering = (State: string, Failing?: { readonly Since: string; readonly Reason: string }): unknown => ({
  ID: 'b1f6a8f0-5a0c-4a53-9f43-6f1c8f0b7a11',
  Name: 'east',
  State,
  ...(Failing === undefined ? {} : { Failing }),
  StreamStatus: { ImportedServices: null, ExportedServices: [] },
  CreateIndex: 1,
  ModifyIndex: 2,
});
const at = (index: number, body: unknown): StubResponse => ({ headers: { 'x-service-index': String(index) }, body });
const lost = { Since: '2026-01-31T00:00:00Z', Reason: 'heartbeat timeout' };

const until = (address: string, ...args: string[]): string[] => [
  ...['peering', 'read', 'east', '--address', address, '--until'],
  ...args,
];

/** Skips the pauses between queries, but waits for the timeout. */
const pauseForTimeout = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms === WATCH_PAUSE_MS ? 0 : ms, undefined, { signal });

test('read --until waits for the state and prints the peering once [SRV-103]', async (t) => {
  const replies = [at(5, peering('INITIAL')), at(6, peering('INITIAL', lost)), at(7, peering('ACTIVE'))];
  const { address, requests } = await startStubServer(t, () => replies.shift() ?? {});
  const { exitCode, stdout, stderr } = await runCli(until(address, 'active', '--json'), { pause: pauseForTimeout });
  assert.deepEqual([exitCode, stderr], [0, '']);
  assert.deepEqual(JSON.parse(stdout), peering('ACTIVE'));
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/v1/peering/east', '/v1/peering/east?index=5&wait=45s', '/v1/peering/east?index=6&wait=45s'],
  );
});

test('read --until returns immediately if the peering has the state', async (t) => {
  const { address } = await startStubServer(t, () => at(5, peering('INITIAL', lost)));
  const { exitCode, stdout } = await runCli(until(address, 'FAILING'), { pause: pauseForTimeout });
  assert.equal(exitCode, 0);
  assert.match(stdout, /^State +FAILING$/m);
});

test('read --until fails after the timeout with reason and advice [SRV-103]', async (t) => {
  let isOver = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    isOver = resolve;
  });
  const { address } = await startStubServer(t, ({ path }) => {
    if (path.includes('index=')) isOver();
    return at(5, peering('INITIAL', lost));
  });
  const pause = (ms: number, signal: AbortSignal): Promise<void> => (ms === 7_000 ? over : pauseForTimeout(ms, signal));
  const { exitCode, stdout, stderr } = await runCli(until(address, 'ACTIVE', '--timeout', '7'), { pause });
  assert.deepEqual([exitCode, stdout], [1, '']);
  assert.equal(
    stderr,
    'accord: timeout: peering "east" is FAILING (heartbeat timeout) after 7 s, want ACTIVE; for the cause, run: accord peering check east\n',
  );
});

test('read --until exits with 130 if it is interrupted', async (t) => {
  const interruption = new AbortController();
  const { address } = await startStubServer(t, ({ path }) => {
    if (path.includes('index=')) interruption.abort();
    return at(5, peering('INITIAL'));
  });
  assert.equal((await runCli(until(address, 'ACTIVE'), { interruption, pause: pauseForTimeout })).exitCode, 130);
});

test('read --until fails immediately if the peering is missing', async (t) => {
  const { address } = await startStubServer(t, () => ({ status: 404, body: 'Peering not found for "east"' }));
  const { exitCode, stderr } = await runCli(until(address, 'ACTIVE'), { pause: pauseForTimeout });
  assert.deepEqual([exitCode, stderr], [1, 'accord: Peering not found for "east"\n']);
});

test('read rejects an unknown state, an invalid timeout, and conflicting options', async () => {
  for (const [args, message] of [
    [['--until', 'PENDING'], /invalid --until "PENDING": want one of INITIAL, ACTIVE, FAILING, TERMINATED/],
    [['--until', 'ACTIVE', '--timeout', '0'], /invalid --timeout "0": want seconds/],
    [['--timeout', '5'], /--timeout requires --until/],
    [['--until', 'ACTIVE', '--watch'], /--watch or --until, not both/],
  ] as const) {
    const { exitCode, stderr } = await runCli(['peering', 'read', 'east', ...args]);
    assert.equal(exitCode, 2);
    assert.match(stderr, message);
  }
});
