/**
 * No request holds the event loop for long [SRV-124]. Sends the largest requests of every endpoint to a server with long
 * lists. `event-loop.long.ts` does the same with a million rows.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLargestState, SMALLER } from '../support/event-loop/largest-state.ts';
import { measureHolds, tableOf } from '../support/event-loop/measure-holds.ts';
import { startMeasuredServer } from '../support/event-loop/measured-server.ts';

const HOLD_MS_MAX = 50;

test('the largest request of every endpoint gives the event loop back [SRV-124]', { timeout: 290_000 }, async () => {
  await using state = await createLargestState(SMALLER);
  const settings = { 'team-access.rate-limit': '0' };
  await using measured = await startMeasuredServer({ dataDirectory: state.directory, settings });
  const measurement = await measureHolds(measured, state, SMALLER, HOLD_MS_MAX);
  const tooLong = measurement.holds.filter(({ holdMs }) => holdMs > HOLD_MS_MAX);
  assert.deepEqual(tooLong, [], tableOf(measurement));
});
