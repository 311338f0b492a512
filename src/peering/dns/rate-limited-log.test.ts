import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createLog } from '../../http/telemetry/log.ts';
import { LOG_LINE_MS } from './limits.ts';
import { createQuietLog } from './rate-limited-log.ts';

test('the same trouble is one line in a while, which says how often it came', () => {
  const lines: { msg: string; unsaid?: number }[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const clock = createFakeClock();
  const quiet = createQuietLog(createLog({ level: 'info', format: 'json', destination }), clock);
  for (let i = 0; i < 100; i++) quiet.warn(new Error('no'), 'one');
  quiet.warn(new Error('no'), 'other');
  clock.advance(LOG_LINE_MS);
  for (let i = 0; i < 2; i++) quiet.warn(new Error('no'), 'one');
  assert.deepEqual(
    lines.map(({ msg, unsaid }) => [msg, unsaid]),
    [
      ['one', undefined],
      ['other', undefined],
      ['one', 99],
    ],
  );
});
