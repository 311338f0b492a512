/** As `event-loop.test.ts`, with a million rows, on both engines [SRV-124]. Prints the longest holds. */
import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createLargestState, FULL, type LargestState } from '../support/event-loop/largest-state.ts';
import { measureHolds, tableOf } from '../support/event-loop/measure-holds.ts';
import { startMeasuredServer } from '../support/event-loop/measured-server.ts';
import { startEtcd } from '../support/process/etcd.ts';
import { type ServerOptions, startServer } from '../support/process/server.ts';

const HOLD_MS_MAX = 100;
/** A million rows are loaded in 20 s, and imported in some minutes. */
const READY_MS = 30 * 60_000;
const SETTINGS = { 'team-access.rate-limit': '0' };
/** A million rows with their history exceed the default quota of 2 GiB. */
const ETCD_FLAGS = ['--max-txn-ops=100000', '--max-request-bytes=67108864', '--quota-backend-bytes=8589934592'];
const PASSPHRASE = 'correct horse battery staple';

describe('with a million rows, no request holds the event loop for long [SRV-124]', () => {
  let state: LargestState;
  let exported = '';
  before(async () => {
    state = await createLargestState(FULL);
    exported = path.join(await mkdtemp(`${state.directory}-export-`), 'export');
    await using server = await startServer({ dataDirectory: state.directory, settings: SETTINGS, readyMs: READY_MS });
    const headers = { 'x-service-export-passphrase': Buffer.from(PASSPHRASE).toString('base64') };
    const answer = await server.request('GET', '/v1/operator/export', { headers });
    assert.equal(answer.status, 200);
    await writeFile(exported, answer.text);
    await writeFile(`${exported}-passphrase`, `${PASSPHRASE}\n`);
  });
  after(() => state[Symbol.asyncDispose]());

  const check = async (options: ServerOptions): Promise<void> => {
    await using measured = await startMeasuredServer({ ...options, readyMs: READY_MS });
    const measurement = await measureHolds(measured, state, FULL, HOLD_MS_MAX);
    process.stdout.write(`${tableOf(measurement)}\n`);
    const tooLong = measurement.holds.filter(({ holdMs }) => holdMs > HOLD_MS_MAX);
    assert.deepEqual(tooLong, [], tableOf(measurement));
  };

  test('on etcd', async () => {
    await using etcd = await startEtcd({ flags: ETCD_FLAGS });
    const settings = {
      ...SETTINGS,
      store: 'etcd',
      'etcd.endpoints': etcd.urls.join(),
      'etcd.max-txn-ops': '100000',
      'etcd.max-txn-bytes': '64 MiB',
    };
    const args = ['--import-file', exported, '--import-passphrase-file', `${exported}-passphrase`];
    await check({ settings, args });
  });

  test('on SQLite', () => check({ dataDirectory: state.directory, settings: SETTINGS }));
});
