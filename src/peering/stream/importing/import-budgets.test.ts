import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createFakeClock, type FakeClock } from '../../../../test/support/fake-clock.ts';
import { IMPORT_BYTES_BURST, IMPORT_BYTES_PER_SECOND } from '../../limits.ts';
import { createImportBudgets, type ImportBudgets } from './import-budgets.ts';

describe('the write budget of a peer [STREAM-96]', () => {
  let clock: FakeClock;
  let budgets: ImportBudgets;
  let existing: Set<string>;
  beforeEach(() => {
    clock = createFakeClock();
    existing = new Set(['east', 'west']);
    budgets = createImportBudgets(clock, (peering) => existing.has(peering));
  });
  const { signal } = new AbortController();

  /** Starts writes and returns the names of those that were admitted so far. */
  function spend(peering: string, name: string, bytes: number, admitted: string[], until = signal): Promise<void> {
    return budgets
      .of(peering)
      .spend(bytes, until)
      .then(() => void admitted.push(name));
  }
  async function advance(ms: number): Promise<void> {
    clock.advance(ms);
    await turn();
  }

  it('admits a burst at once, then writes in order at the rate', async () => {
    const admitted: string[] = [];
    await spend('east', 'burst', IMPORT_BYTES_BURST, admitted);
    await spend('east', 'last', 2 * IMPORT_BYTES_PER_SECOND, admitted);
    const later = [
      spend('east', 'a', IMPORT_BYTES_PER_SECOND, admitted),
      spend('east', 'b', IMPORT_BYTES_PER_SECOND, admitted),
    ];
    await turn();
    await advance(1_999);
    assert.deepEqual(admitted, ['burst', 'last']);
    await advance(1);
    assert.deepEqual(admitted, ['burst', 'last', 'a']);
    await advance(1_000);
    assert.deepEqual(admitted, ['burst', 'last', 'a', 'b']);
    await Promise.all(later);
    const { writtenBytes, delayedMs } = budgets.byPeering.get('east') ?? {};
    assert.deepEqual([writtenBytes, delayedMs], [IMPORT_BYTES_BURST + 4 * IMPORT_BYTES_PER_SECOND, 3_000]);
  });

  it('is separate for each peer, and free again after a pause', async () => {
    const admitted: string[] = [];
    await spend('east', 'east', 2 * IMPORT_BYTES_BURST, admitted);
    await spend('west', 'west', IMPORT_BYTES_BURST, admitted);
    clock.advance((2 * IMPORT_BYTES_BURST * 1_000) / IMPORT_BYTES_PER_SECOND);
    await spend('east', 'again', IMPORT_BYTES_BURST, admitted);
    assert.deepEqual(admitted, ['east', 'west', 'again']);
  });

  it('passes on the turn of a write whose stream has ended, and costs it nothing', async () => {
    const admitted: string[] = [];
    const stream = new AbortController();
    await spend('east', 'burst', IMPORT_BYTES_BURST + IMPORT_BYTES_PER_SECOND, admitted);
    const ended = spend('east', 'ended', IMPORT_BYTES_BURST, admitted, stream.signal);
    const next = spend('east', 'next', 1, admitted);
    stream.abort();
    await assert.rejects(ended);
    await turn();
    await advance(1_000);
    await next;
    assert.deepEqual(admitted, ['burst', 'next']);
    assert.equal(clock.timerCount, 0);
  });

  it('is forgotten with its peering, although its streams end later', async () => {
    const [used, unused] = [budgets.of('east'), budgets.of('east')];
    await used.spend(1, signal);
    existing.delete('east');
    budgets.forget('east');
    for (const budget of [used, unused, budgets.of('east')]) {
      await budget.spend(1, signal);
      budget.setUsed({ services: 1, instances: 1, bytes: 1 });
      budget.countRefused();
    }
    assert.equal(budgets.byPeering.size, 0);
  });
});
