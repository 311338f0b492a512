import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { accord, type Reply, startServer } from '../../../../test/support/process/cli-harness.ts';
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
const at = (index: number, body: unknown): Reply => ({ headers: { 'x-service-index': String(index) }, body });
const lost = { Since: '2026-01-31T00:00:00Z', Reason: 'heartbeat timeout' };

const until = (address: string, ...args: string[]): string[] => [
  ...['peering', 'read', 'east', '--address', address, '--until'],
  ...args,
];

/** Waits as long as it is told only where it is the time limit. */
const patient = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms === WATCH_PAUSE_MS ? 0 : ms, undefined, { signal });

test('read --until waits for the state and shows the peering once, in it', async (t) => {
  const replies = [at(5, peering('INITIAL')), at(6, peering('INITIAL', lost)), at(7, peering('ACTIVE'))];
  const { address, requests } = await startServer(t, () => replies.shift() ?? {});
  const { exitCode, stdout, stderr } = await accord(until(address, 'active', '--json'), { pause: patient });
  assert.deepEqual([exitCode, stderr], [0, '']);
  assert.deepEqual(JSON.parse(stdout), peering('ACTIVE'));
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/v1/peering/east', '/v1/peering/east?index=5&wait=45s', '/v1/peering/east?index=6&wait=45s'],
  );
});

test('read --until takes a peering that is there already', async (t) => {
  const { address } = await startServer(t, () => at(5, peering('INITIAL', lost)));
  const { exitCode, stdout } = await accord(until(address, 'FAILING'), { pause: patient });
  assert.equal(exitCode, 0);
  assert.match(stdout, /^State +FAILING$/m);
});

test('read --until ends when its time is over, with the reason and what to do', async (t) => {
  let isOver = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    isOver = resolve;
  });
  const { address } = await startServer(t, ({ path }) => {
    if (path.includes('index=')) isOver();
    return at(5, peering('INITIAL', lost));
  });
  const pause = (ms: number, signal: AbortSignal): Promise<void> => (ms === 7_000 ? over : patient(ms, signal));
  const { exitCode, stdout, stderr } = await accord(until(address, 'ACTIVE', '--timeout', '7'), { pause });
  assert.deepEqual([exitCode, stdout], [1, '']);
  assert.equal(
    stderr,
    'accord: peering "east" was not ACTIVE within 7 s: it is FAILING (heartbeat timeout); to see why: accord peering check east\n',
  );
});

test('read --until is interrupted as any wait', async (t) => {
  const interruption = new AbortController();
  const { address } = await startServer(t, ({ path }) => {
    if (path.includes('index=')) interruption.abort();
    return at(5, peering('INITIAL'));
  });
  assert.equal((await accord(until(address, 'ACTIVE'), { interruption, pause: patient })).exitCode, 130);
});

test('read --until of what is not there is refused at once', async (t) => {
  const { address } = await startServer(t, () => ({ status: 404, body: 'Peering not found for "east"' }));
  const { exitCode, stderr } = await accord(until(address, 'ACTIVE'), { pause: patient });
  assert.deepEqual([exitCode, stderr], [1, 'accord: Peering not found for "east"\n']);
});

test('read refuses a state that there is not, a time that is none, and options that do not fit', async () => {
  for (const [args, message] of [
    [['--until', 'PENDING'], /--until is "PENDING": want one of INITIAL, ACTIVE, FAILING, TERMINATED/],
    [['--until', 'ACTIVE', '--timeout', '0'], /--timeout is "0": want seconds/],
    [['--timeout', '5'], /--timeout needs --until/],
    [['--until', 'ACTIVE', '--watch'], /--watch or --until, not both/],
  ] as const) {
    const { exitCode, stderr } = await accord(['peering', 'read', 'east', ...args]);
    assert.equal(exitCode, 2);
    assert.match(stderr, message);
  }
});
