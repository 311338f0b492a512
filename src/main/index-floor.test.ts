import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { createLog } from '../http/telemetry/log.ts';
import { keepIndexFloor, readIndexFloor } from './index-floor.ts';
import { INDEX_FLOOR_MS } from './limits.ts';

describe('keepIndexFloor', () => {
  it('writes the newest index when writes take longer than the interval [STATE-118]', async () => {
    await using temporary = await temporaryDirectory();
    const { path: directory } = temporary;
    const clock = createFakeClock();
    const lines: string[] = [];
    const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => void lines.push(line) } });
    const snapshot = { cluster: 'c', epoch: 1, index: 0 };
    {
      await using _floor = keepIndexFloor({ directory, state: { snapshot }, clock, log });
      for (snapshot.index = 1; snapshot.index < 50; snapshot.index++) clock.advance(INDEX_FLOOR_MS);
    }
    assert.deepEqual(await readIndexFloor(directory, log), snapshot);
    assert.deepEqual(lines, []);
  });
});
