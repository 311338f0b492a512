import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { counters, tokens } from '../../../test/support/state/tables.ts';
import { nextTurn } from '../clock/next-turn.ts';
import { LAST_CHANGES_MAX, WAKE_SLICE } from '../limits.ts';
import { entryTopic, rowTopic, Waiting } from './change-notifier.ts';

const row = (key: string) => rowTopic(counters, key);

describe('waiting', () => {
  it('wakes who waits for a topic that changed, once, in a later turn, and nobody else', async () => {
    const waiting = new Waiting();
    const woken: string[] = [];
    waiting.wait([row('a')], () => woken.push('a'));
    waiting.wait([row('a'), row('b')], () => woken.push('a or b'));
    waiting.wait([row('b')], () => woken.push('b'));
    waiting.wait([entryTopic(counters, 'partition', 'a'), rowTopic(tokens, 'a')], () => woken.push('others'));
    waiting.touch([row('a')], 5);
    waiting.touch([row('a')], 6);
    assert.deepEqual(woken, [], 'not from within the commit');
    await nextTurn();
    assert.deepEqual(woken, ['a', 'a or b']);
    waiting.touch([row('a')], 7);
    await nextTurn();
    assert.equal(woken.length, 2, 'once');
    assert.equal(waiting.size, 3);
  });

  it('forgets who is no longer interested, woken already or not', async () => {
    const waiting = new Waiting();
    const woken: string[] = [];
    const forget = waiting.wait([row('a'), row('b')], () => woken.push('never'));
    waiting.touch([row('a')], 5);
    forget();
    await nextTurn();
    forget();
    assert.deepEqual(woken, []);
    assert.equal(waiting.size, 0);
  });

  it('wakes in slices, between which the event loop turns', async () => {
    const waiting = new Waiting();
    const count = WAKE_SLICE * 3 + 1;
    let woken = 0;
    for (let i = 0; i < count; i++) waiting.wait([row('a')], () => woken++);
    waiting.touch([row('a')], 5);
    const seen: number[] = [];
    while (woken < count) {
      await nextTurn();
      seen.push(woken);
    }
    assert.deepEqual(seen, [WAKE_SLICE, WAKE_SLICE * 2, WAKE_SLICE * 3, count]);
  });

  it('lets a waiter that is woken wait again', async () => {
    const waiting = new Waiting();
    let woken = 0;
    const again = (): void => {
      woken++;
      waiting.wait([row('a')], again);
    };
    waiting.wait([row('a')], again);
    for (let index = 1; index <= 3; index++) {
      waiting.touch([row('a')], index);
      await nextTurn();
      assert.equal(woken, index);
    }
  });

  it('remembers last changes; what it has forgotten counts as changed when it forgot', () => {
    const waiting = new Waiting();
    waiting.touch([row('a')], 3);
    waiting.touch([row('b')], 4);
    assert.deepEqual(
      [row('a'), row('b'), row('c')].map((topic) => waiting.lastChange(topic)),
      [3, 4, 0],
    );
    let index = 4;
    for (; index < LAST_CHANGES_MAX + 10; index++) waiting.touch([row(`k${index}`)], index);
    const floor = waiting.lastChange(row('a'));
    assert.ok(floor > 3 && floor <= index, `${floor}`);
    assert.ok(waiting.lastChange(row(`k${index - 1}`)) >= index - 1);
    assert.equal(waiting.lastChange(row('never')), floor);
  });

  it('counts everything as changed, and wakes everyone, when the state was loaded again', async () => {
    const waiting = new Waiting();
    let woken = 0;
    waiting.touch([row('a')], 3);
    waiting.wait([row('a')], () => woken++);
    waiting.wait([entryTopic(counters, 'partition', 'p')], () => woken++);
    waiting.reset(9);
    await nextTurn();
    assert.equal(woken, 2);
    assert.equal(waiting.lastChange(row('a')), 9);
    assert.equal(waiting.lastChange(row('never')), 9);
  });

  it('tells rows, entries and tables apart', () => {
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
