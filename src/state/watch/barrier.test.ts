import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { nextTurn } from '../clock/next-turn.ts';
import { isStateError, StateError } from '../errors.ts';
import { BARRIER_MS } from '../limits.ts';
import { Barrier } from './barrier.ts';

/** Proofs that the test settles. */
function controlledProofs() {
  const proofs: (PromiseWithResolvers<void> & { readonly signal: AbortSignal })[] = [];
  const prove = (signal: AbortSignal): Promise<void> => {
    const proof = { ...Promise.withResolvers<void>(), signal };
    proofs.push(proof);
    return proof.promise;
  };
  return { proofs, prove };
}

describe('barrier', () => {
  it('runs one proof at a time, and shares the next one among the reads that arrive during it [STATE-58]', async () => {
    const { proofs, prove } = controlledProofs();
    const barrier = new Barrier(prove, createFakeClock());
    const done: string[] = [];
    const join = (name: string): Promise<void> => barrier.join().then(() => void done.push(name));
    const first = [join('a'), join('b')];
    await nextTurn();
    assert.equal(proofs.length, 1, 'both joined before the proof began');
    const second = [join('c'), join('d')];
    await nextTurn();
    assert.equal(proofs.length, 1, 'the next one waits');
    proofs[0]?.resolve();
    await Promise.all(first);
    await nextTurn();
    assert.deepEqual(done, ['a', 'b'], 'no read joins a proof that began before it');
    assert.equal(proofs.length, 2);
    proofs[1]?.resolve();
    await Promise.all(second);
    const last = join('e');
    await nextTurn();
    proofs[2]?.resolve();
    await last;
    assert.equal(proofs.length, 3);
  });

  it('fails only the reads that share a failed proof [STATE-59]', async () => {
    const { proofs, prove } = controlledProofs();
    const barrier = new Barrier(prove, createFakeClock());
    const first = barrier.join();
    await nextTurn();
    const second = barrier.join();
    proofs[0]?.reject(new StateError('unavailable', 'no leader'));
    await assert.rejects(first, { message: 'no leader' });
    await nextTurn();
    proofs[1]?.resolve();
    await second;
  });

  it('times out, with the wait for the previous proof included, and recovers [STATE-59]', async () => {
    const { proofs, prove } = controlledProofs();
    const clock = createFakeClock();
    const barrier = new Barrier(prove, clock);
    const unavailable = (error: unknown): boolean => isStateError(error, 'unavailable');
    const first = assert.rejects(barrier.join(), unavailable);
    await clock.run(1_000);
    let secondAt = 0;
    const second = assert.rejects(barrier.join(), unavailable).then(() => {
      secondAt = clock.monotonic();
    });
    await clock.run(BARRIER_MS);
    await Promise.all([first, second]);
    assert.equal(secondAt, 1_000 + BARRIER_MS, 'no read waits for two timeouts');
    assert.ok(proofs.every(({ signal }) => signal.aborted));
    const third = barrier.join();
    await nextTurn();
    proofs.at(-1)?.resolve();
    await third;
    assert.equal(clock.timerCount, 0);
  });

  it('recovers when two proofs time out at the same moment', async () => {
    const clock = createFakeClock();
    const { proofs, prove } = controlledProofs();
    const barrier = new Barrier(prove, clock);
    const first = assert.rejects(barrier.join());
    await nextTurn();
    const second = assert.rejects(barrier.join());
    clock.advance(BARRIER_MS);
    await Promise.all([first, second]);
    const third = barrier.join();
    await nextTurn();
    proofs.at(-1)?.resolve();
    await third;
  });
});
