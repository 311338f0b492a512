import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { counters, tokens } from '../../../test/support/state/tables.ts';
import { nextTurn } from '../clock/next-turn.ts';
import { LAST_CHANGES_MAX, WAKE_SLICE_WAITERS } from '../limits.ts';
import { ChangeNotifier, entryTopic, rowTopic } from './change-notifier.ts';

const row = (key: string) => rowTopic(counters, key);

describe('change notifier', () => {
  it('wakes only the waiters of a changed topic, once, in a later turn [STATE-68] [STATE-69]', async () => {
    const notifier = new ChangeNotifier();
    const woken: string[] = [];
    notifier.wait([row('a')], () => woken.push('a'));
    notifier.wait([row('a'), row('b')], () => woken.push('a or b'));
    notifier.wait([row('b')], () => woken.push('b'));
    notifier.wait([entryTopic(counters, 'partition', 'a'), rowTopic(tokens, 'a')], () => woken.push('others'));
    notifier.recordChanges([row('a')], 5);
    notifier.recordChanges([row('a')], 6);
    assert.deepEqual(woken, [], 'not during the commit');
    await nextTurn();
    assert.deepEqual(woken, ['a', 'a or b']);
    notifier.recordChanges([row('a')], 7);
    await nextTurn();
    assert.equal(woken.length, 2, 'once');
    assert.equal(notifier.waiterCount, 3);
  });

  it('removes a waiter, due or not', async () => {
    const notifier = new ChangeNotifier();
    const woken: string[] = [];
    const remove = notifier.wait([row('a'), row('b')], () => woken.push('never'));
    notifier.recordChanges([row('a')], 5);
    remove();
    await nextTurn();
    remove();
    assert.deepEqual(woken, []);
    assert.equal(notifier.waiterCount, 0);
  });

  it('wakes waiters in slices, one per turn of the event loop [STATE-70]', async () => {
    const notifier = new ChangeNotifier();
    const count = WAKE_SLICE_WAITERS * 3 + 1;
    let woken = 0;
    for (let i = 0; i < count; i++) notifier.wait([row('a')], () => woken++);
    notifier.recordChanges([row('a')], 5);
    const seen: number[] = [];
    while (woken < count) {
      await nextTurn();
      seen.push(woken);
    }
    assert.deepEqual(seen, [WAKE_SLICE_WAITERS, WAKE_SLICE_WAITERS * 2, WAKE_SLICE_WAITERS * 3, count]);
  });

  it('accepts a new waiter from the callback of a woken one', async () => {
    const notifier = new ChangeNotifier();
    let woken = 0;
    const again = (): void => {
      woken++;
      notifier.wait([row('a')], again);
    };
    notifier.wait([row('a')], again);
    for (let index = 1; index <= 3; index++) {
      notifier.recordChanges([row('a')], index);
      await nextTurn();
      assert.equal(woken, index);
    }
  });

  it('remembers last changes, and counts forgotten topics as changed when they were forgotten [STATE-73]', () => {
    const notifier = new ChangeNotifier();
    notifier.recordChanges([row('a')], 3);
    notifier.recordChanges([row('b')], 4);
    assert.deepEqual(
      [row('a'), row('b'), row('c')].map((topic) => notifier.lastChangeIndex(topic)),
      [3, 4, 0],
    );
    let index = 4;
    for (; index < LAST_CHANGES_MAX + 10; index++) notifier.recordChanges([row(`k${index}`)], index);
    const floor = notifier.lastChangeIndex(row('a'));
    assert.ok(floor > 3 && floor <= index, `${floor}`);
    assert.ok(notifier.lastChangeIndex(row(`k${index - 1}`)) >= index - 1);
    assert.equal(notifier.lastChangeIndex(row('never')), floor);
  });

  it('counts every topic as changed and wakes every waiter on a reset [STATE-76]', async () => {
    const notifier = new ChangeNotifier();
    let woken = 0;
    notifier.recordChanges([row('a')], 3);
    notifier.wait([row('a')], () => woken++);
    notifier.wait([entryTopic(counters, 'partition', 'p')], () => woken++);
    notifier.reset(9);
    await nextTurn();
    assert.equal(woken, 2);
    assert.equal(notifier.lastChangeIndex(row('a')), 9);
    assert.equal(notifier.lastChangeIndex(row('never')), 9);
  });

  it('distinguishes rows, entries, and tables [STATE-68]', () => {
    const topics = [
      rowTopic(counters, 'p'),
      rowTopic(tokens, 'p'),
      entryTopic(counters, 'partition', 'p'),
      entryTopic(counters, 'odd', 'p'),
      entryTopic(counters, 'partition', ''),
      rowTopic(counters, ''),
    ];
    assert.equal(new Set(topics).size, topics.length);
  });
});
