import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catchSignals } from './signals.ts';

test('a rejected action of SIGHUP does not stop later ones [SRV-115]', async () => {
  const failures: unknown[] = [];
  using signals = catchSignals((error) => failures.push(error));
  const { promise, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  signals.onHangUp(() => Promise.reject(new Error('broken')));
  signals.onHangUp(() => {
    calls += 1;
    if (calls === 2) resolve();
    return Promise.resolve();
  });
  process.emit('SIGHUP');
  process.emit('SIGHUP');
  await promise;
  assert.deepEqual(failures.map(String), ['Error: broken', 'Error: broken']);
});
