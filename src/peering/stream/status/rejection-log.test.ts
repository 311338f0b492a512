import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { createFakeClock, type FakeClock } from '../../../../test/support/fake-clock.ts';
import { numberedService, REFUSAL, WEB } from '../../../../test/support/peering/peer-session.ts';
import { createLog } from '../../../http/telemetry/log.ts';
import { REFUSAL_LINES_MAX, REFUSAL_LINES_MS, REFUSED_KEYS_MAX } from '../limits.ts';
import { createRefusalLog, type RefusalLog } from './rejection-log.ts';

const EAST = { peeringId: '1', name: 'east' };
const WEST = { peeringId: '2', name: 'west' };

interface Line {
  readonly level: string;
  readonly peering: string;
  readonly id: string;
  readonly message: string;
  readonly unsaid?: number;
}

describe('what a peer refuses', () => {
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

  it('is told once, with the peering and the reason, until the peer takes it', () => {
    for (let i = 0; i < 3; i += 1) refusals.refused(EAST, WEB, REFUSAL);
    assert.equal(lines.length, 1);
    const { level, peering, id, message } = lines[0] as Line;
    assert.deepEqual([level, peering, id, message], ['warn', 'east', 'web', REFUSAL.message]);
    refusals.taken(EAST.peeringId, WEB);
    refusals.refused(EAST, WEB, REFUSAL);
    assert.equal(lines.length, 2);
  });

  it('of each peering is told on its own, and anew when the peering is another one', () => {
    refusals.refused(EAST, WEB, REFUSAL);
    refusals.refused(WEST, WEB, REFUSAL);
    refusals.forget(EAST.peeringId);
    refusals.refused(EAST, WEB, REFUSAL);
    assert.deepEqual(
      lines.map(({ peering }) => peering),
      ['east', 'west', 'east'],
    );
  });

  it('never fills the log: what is left out is counted in the next line', async () => {
    many(REFUSAL_LINES_MAX + 5);
    for (let i = 0; i < 100; i += 1) {
      refusals.taken(EAST.peeringId, WEB);
      refusals.refused(EAST, WEB, REFUSAL);
    }
    assert.equal(lines.length, REFUSAL_LINES_MAX);
    refusals.taken(EAST.peeringId, WEB);
    await clock.run(REFUSAL_LINES_MS);
    refusals.refused(EAST, WEB, REFUSAL);
    assert.equal(lines.length, REFUSAL_LINES_MAX + 1);
    assert.equal(lines.at(-1)?.unsaid, 105);
  });

  it('is remembered of so many resources, and told again past them', async () => {
    many(REFUSED_KEYS_MAX + 1);
    await clock.run(REFUSAL_LINES_MS);
    many(1);
    assert.equal(lines.at(-1)?.id, numberedService(0).id);
  });
});
