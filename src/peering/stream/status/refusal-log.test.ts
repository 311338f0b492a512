import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { createFakeClock, type FakeClock } from '../../../../test/support/fake-clock.ts';
import { numberedService, REFUSAL, WEB } from '../../../../test/support/peering/session-fixtures.ts';
import { createLog } from '../../../http/telemetry/log.ts';
import { LOGGED_REFUSALS_MAX, REFUSAL_LOG_INTERVAL_MS, REFUSAL_LOG_LINES_MAX } from '../limits.ts';
import { createRefusalLog, type RefusalLog } from './refusal-log.ts';

const EAST = { peeringId: '1', name: 'east' };
const WEST = { peeringId: '2', name: 'west' };

interface Line {
  readonly level: string;
  readonly peering: string;
  readonly id: string;
  readonly message: string;
  readonly unsaid?: number;
}

describe('refusal log', () => {
  let clock: FakeClock;
  let lines: Line[];
  let refusals: RefusalLog;
  beforeEach(() => {
    clock = createFakeClock();
    lines = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Line) };
    refusals = createRefusalLog(createLog({ level: 'info', format: 'json', destination }), clock);
  });
  const many = (count: number): void => {
    for (let i = 0; i < count; i += 1) refusals.refused(EAST, numberedService(i), REFUSAL);
  };

  it('logs a refusal once, with peering and reason, until the peer acknowledges the resource', () => {
    for (let i = 0; i < 3; i += 1) refusals.refused(EAST, WEB, REFUSAL);
    assert.equal(lines.length, 1);
    const { level, peering, id, message } = lines[0] as Line;
    assert.deepEqual([level, peering, id, message], ['warn', 'east', 'web', REFUSAL.message]);
    refusals.acknowledged(EAST.peeringId, WEB);
    refusals.refused(EAST, WEB, REFUSAL);
    assert.equal(lines.length, 2);
  });

  it('logs each peering separately, and again after forget', () => {
    refusals.refused(EAST, WEB, REFUSAL);
    refusals.refused(WEST, WEB, REFUSAL);
    refusals.forget(EAST.peeringId);
    refusals.refused(EAST, WEB, REFUSAL);
    assert.deepEqual(
      lines.map(({ peering }) => peering),
      ['east', 'west', 'east'],
    );
  });

  it('limits the rate and counts omitted refusals in the next line', async () => {
    many(REFUSAL_LOG_LINES_MAX + 5);
    for (let i = 0; i < 100; i += 1) {
      refusals.acknowledged(EAST.peeringId, WEB);
      refusals.refused(EAST, WEB, REFUSAL);
    }
    assert.equal(lines.length, REFUSAL_LOG_LINES_MAX);
    refusals.acknowledged(EAST.peeringId, WEB);
    await clock.run(REFUSAL_LOG_INTERVAL_MS);
    refusals.refused(EAST, WEB, REFUSAL);
    assert.equal(lines.length, REFUSAL_LOG_LINES_MAX + 1);
    assert.equal(lines.at(-1)?.unsaid, 105);
  });

  it('logs a resource again after LOGGED_REFUSALS_MAX others', async () => {
    many(LOGGED_REFUSALS_MAX + 1);
    await clock.run(REFUSAL_LOG_INTERVAL_MS);
    many(1);
    assert.equal(lines.at(-1)?.id, numberedService(0).id);
  });
});
