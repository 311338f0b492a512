/**
 * Random requests to every endpoint of both services. The server answers each of them without an internal error, and a
 * rejected request changes nothing. `random-requests.long.ts` sends many more.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCHEMA } from '../../src/main/schema.ts';
import { sqliteEngine } from '../../src/state/engine/sqlite/engine.ts';
import { startApi } from '../support/process/api.ts';
import { sendRandomRequests } from '../support/process/random-requests.ts';
import { dumpState, openState } from '../support/state/state.ts';

const REQUESTS = 20_000;
const SEED = 20_260_131;

/** Endpoints that need a coincidence to succeed, such as a user and one of their tokens. */
const UNSUCCESSFUL_MAX = 6;
const SUCCESSFUL_SHARE_MIN = 0.35;

test(`${REQUESTS} random requests cause no 5xx, and the rejected ones change nothing [V1-51, SRV-59]`, async () => {
  await using api = await startApi();
  const { statuses, byEndpoint } = await sendRandomRequests(api, SEED, REQUESTS);
  // The requests must lead to each kind of result often enough.
  for (const status of [200, 201, 204, 400, 401, 403, 404, 405, 422]) {
    const count = statuses.get(status) ?? 0;
    assert.ok(count > REQUESTS / 500, `${count} of ${REQUESTS} responses have the status ${status}`);
  }
  const successful = successes(statuses);
  assert.ok(successful > SUCCESSFUL_SHARE_MIN * REQUESTS, `${successful} of ${REQUESTS} requests succeed`);
  const all = api.server.endpoints.map(({ method, path }) => `${method} ${path}`);
  const unsuccessful = all.filter((name) => successes(byEndpoint.get(name) ?? new Map()) === 0);
  assert.ok(unsuccessful.length <= UNSUCCESSFUL_MAX, `no request succeeds at ${unsuccessful.join(', ')}`);
  const errors = api.log().match(/.*"level":"(error|warn|fatal)".*/g) ?? [];
  assert.deepEqual(errors, []);
  assert.equal((await api.request('GET', '/readyz', { token: null })).status, 200);
  const inMemory = dumpState(api.state.snapshot);
  await api.state[Symbol.asyncDispose]();
  await using again = await openState(sqliteEngine({ directory: api.directory }), { schema: SCHEMA });
  assert.deepEqual(dumpState(again.snapshot), inMemory, 'the stored state is the state in memory');
});

const successes = (statuses: ReadonlyMap<number, number>): number =>
  [200, 201, 204].reduce((sum, status) => sum + (statuses.get(status) ?? 0), 0);
