import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGate } from './gate.ts';
import { intentionsOf } from './kinds/intention.ts';
import { partitions } from './kinds/partition.ts';

test('a gate holds those that it is asked to, until what it is held for is done', async () => {
  const gate = createGate();
  const { signal } = new AbortController();
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const holding = gate.holding(
    (kind) => kind === partitions,
    () => held.promise,
  );
  const passing = gate.pass(partitions, signal).then(() => order.push('held'));
  await gate.pass(intentionsOf('a', 1), signal);
  order.push('not held');
  held.resolve();
  await Promise.all([holding, passing]);
  assert.deepEqual(order, ['not held', 'held']);
});

test('who is held goes on when it is to end', async () => {
  const gate = createGate();
  const ending = new AbortController();
  const held = Promise.withResolvers<void>();
  const holding = gate.holding(
    () => true,
    () => held.promise,
  );
  const passing = gate.pass(partitions, ending.signal);
  ending.abort();
  await passing;
  held.resolve();
  await holding;
});
