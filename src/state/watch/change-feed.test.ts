import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { counters } from '../../../test/support/state/tables.ts';
import { isStateError } from '../errors.ts';
import { CHANGE_FEED_BACKLOG_MAX } from '../limits.ts';
import { type Change, ChangeFeed } from './change-feed.ts';

const change = (index: number): Change => ({
  index,
  changes: [{ table: counters, key: String(index), before: undefined, after: undefined }],
});

describe('change feed', () => {
  it('buffers changes from the subscription on until the consumer reads them', async () => {
    const feed = new ChangeFeed();
    feed.push(change(1));
    const stop = new AbortController();
    const changes = feed.subscribe(stop.signal)[Symbol.asyncIterator]();
    feed.push(change(2));
    feed.push(change(3));
    const received = [await changes.next(), await changes.next()];
    assert.deepEqual(
      received.map(({ value }) => value.index),
      [2, 3],
    );
    const next = changes.next();
    feed.push(change(4));
    assert.equal((await next).value.index, 4);
    stop.abort();
    assert.equal((await changes.next()).done, true);
  });

  it('disconnects only the consumer that is too far behind [STATE-78]', async () => {
    const feed = new ChangeFeed();
    const { signal } = new AbortController();
    const slow = feed.subscribe(signal)[Symbol.asyncIterator]();
    const quick = feed.subscribe(signal)[Symbol.asyncIterator]();
    for (let index = 1; index <= CHANGE_FEED_BACKLOG_MAX + 1; index++) {
      feed.push(change(index));
      assert.equal((await quick.next()).value.index, index);
    }
    await assert.rejects(slow.next(), (error) => isStateError(error, 'fell-behind'));
    assert.equal((await slow.next()).done, true);
    feed.push(change(0));
    assert.equal((await quick.next()).value.index, 0);
  });

  it('keeps a consumer whose backlog is exactly at the limit [STATE-78]', async () => {
    const feed = new ChangeFeed();
    const slow = feed.subscribe(new AbortController().signal)[Symbol.asyncIterator]();
    for (let index = 1; index <= CHANGE_FEED_BACKLOG_MAX; index++) feed.push(change(index));
    assert.equal((await slow.next()).value.index, 1);
  });

  it('disconnects every consumer at once, waiting or not', async () => {
    const feed = new ChangeFeed();
    const { signal } = new AbortController();
    const waiting = feed.subscribe(signal)[Symbol.asyncIterator]();
    const idle = feed.subscribe(signal)[Symbol.asyncIterator]();
    const next = assert.rejects(waiting.next(), (error) => isStateError(error, 'fell-behind'));
    feed.push(change(1));
    feed.disconnectAll();
    await next;
    await assert.rejects(idle.next(), (error) => isStateError(error, 'fell-behind'));
  });

  it('ends when the signal aborts during a wait, or has aborted before', async () => {
    const feed = new ChangeFeed();
    const stop = new AbortController();
    const changes = feed.subscribe(stop.signal)[Symbol.asyncIterator]();
    const next = changes.next();
    stop.abort();
    assert.equal((await next).done, true);
    const late = feed.subscribe(stop.signal)[Symbol.asyncIterator]();
    assert.equal((await late.next()).done, true);
  });
});
