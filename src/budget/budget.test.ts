import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createBudget } from './budget.ts';

describe('a budget', () => {
  it('grants claims up to the total, and names the bound that refuses', () => {
    const budget = createBudget<'address'>('test', { total: 10, shares: { address: 6 } });
    assert.equal(budget.take({ amount: 6, keys: { address: 'a' } }), undefined);
    assert.equal(budget.take({ amount: 1, keys: { address: 'a' } }), 'address');
    assert.equal(budget.take({ amount: 5, keys: { address: 'b' } }), 'total');
    assert.equal(budget.take({ amount: 4, keys: {} }), undefined);
    assert.equal(budget.used, 10);
    assert.deepEqual(
      [...budget.refused],
      [
        ['total', 1],
        ['address', 1],
      ],
    );
    assert.deepEqual(budget.measure(), [
      { bound: 'total', used: 10, max: 10 },
      { bound: 'address', used: 6, max: 6 },
    ]);
  });

  it('keeps the reserve for privileged claims', () => {
    const budget = createBudget('test', { total: 10, reserve: 2, shares: {} });
    assert.equal(budget.take({ amount: 8, keys: {} }), undefined);
    assert.equal(budget.take({ keys: {} }), 'total');
    assert.equal(budget.take({ amount: 2, keys: {}, privileged: true }), undefined);
    assert.equal(budget.take({ keys: {}, privileged: true }), 'total');
  });

  it('takes from every share or from none', () => {
    const budget = createBudget<'address' | 'token'>('test', { total: 10, shares: { address: 5, token: 2 } });
    const keys = { address: 'a', token: 't' };
    assert.equal(budget.take({ amount: 2, keys }), undefined);
    assert.equal(budget.take({ keys }), 'token');
    assert.equal(budget.take({ amount: 3, keys: { address: 'a' } }), undefined);
    assert.equal(budget.take({ keys: { address: 'a', token: 'u' } }), 'address');
    budget.release({ amount: 2, keys });
    assert.equal(budget.take({ amount: 2, keys: { address: 'a', token: 'u' } }), undefined);
  });

  it('is empty again after every granted claim was released, and never passes a bound', () => {
    const claims = fc.array(
      fc.record({
        amount: fc.integer({ min: 0, max: 5 }),
        keys: fc.record({ address: fc.constantFrom('a', 'b', undefined), token: fc.constantFrom('t', 'u', undefined) }),
        privileged: fc.boolean(),
      }),
    );
    fc.assert(
      fc.property(claims, (given) => {
        const limits = { total: 12, reserve: 3, shares: { address: 8, token: 4 } };
        const budget = createBudget<'address' | 'token'>('test', limits);
        const granted = given.filter((claim) => budget.take(claim) === undefined);
        for (const { used = 0, max } of budget.measure()) assert.ok(used <= max);
        for (const claim of granted) budget.release(claim);
        assert.deepEqual(
          budget.measure().map(({ used }) => used),
          [0, 0, 0],
        );
      }),
    );
  });
});
