import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createLog } from '../../http/telemetry/log.ts';
import { LOG_INTERVAL_MS } from './limits.ts';
import { createRateLimitedLog } from './rate-limited-log.ts';

test('logs a message once per interval, with the number of suppressed ones', () => {
  const lines: { msg: string; unsaid?: number }[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const clock = createFakeClock();
  const quiet = createRateLimitedLog(createLog({ level: 'info', format: 'json', destination }), clock);
  for (let i = 0; i < 100; i++) quiet.warn(new Error('no'), 'one');
  quiet.warn(new Error('no'), 'other');
  clock.advance(LOG_INTERVAL_MS);
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
