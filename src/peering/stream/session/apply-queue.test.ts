import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { UNAPPLIED_BYTES_MAX, UNAPPLIED_OVERHEAD_BYTES } from '../limits.ts';
import { RESOURCE_KINDS, type ResourceKey } from '../wire/resources.ts';
import { clearApplyQueue, createApplyQueue, enqueue, finishApply, isFull, startNext } from './apply-queue.ts';

const KEYS: readonly ResourceKey[] = [
  { kind: 'list', id: 'exported-service-list' },
  { kind: 'service', id: 'web' },
  { kind: 'service', id: 'api' },
];
const WEB: ResourceKey = { kind: 'service', id: 'web' };

const response = (key: ResourceKey, nonce: string, bytes = 10) => ({
  key,
  nonce,
  url: RESOURCE_KINDS[key.kind].url,
  content: new Uint8Array(bytes),
});

describe('an apply queue', () => {
  it('returns every nonce once and has no bytes left at the end [STREAM-40] [STREAM-51]', () => {
    const key = fc.constantFrom(...KEYS);
    const action = fc.oneof(fc.record({ receive: key }), fc.record({ finish: fc.nat() }));
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
        const queue = createApplyQueue();
        const received: string[] = [];
        const answered: string[] = [];
        const begin = (): void => {
          while (startNext(queue, 0) !== undefined);
          const kinds = [...queue.inProgress.values()].map((application) => application.key.kind);
          assert.ok(!kinds.includes('list') || kinds.length === 1, 'a list is alone');
        };
        const finishOne = (pick: number): void => {
          const under = [...queue.inProgress.values()];
          const chosen = under[pick % under.length];
          if (chosen !== undefined) answered.push(...finishApply(queue, chosen.key, true, 0).nonces);
        };
        for (const [number, each] of actions.entries()) {
          if ('receive' in each) {
            received.push(String(number));
            enqueue(queue, response(each.receive, String(number)));
          } else finishOne(each.finish);
          begin();
        }
        while (queue.inProgress.size > 0) {
          finishOne(0);
          begin();
        }
        assert.deepEqual(answered.sort(), received.sort());
        assert.equal(queue.bytes, 0);
      }),
    );
  });

  it('is full at UNAPPLIED_BYTES_MAX [STREAM-53]', () => {
    const queue = createApplyQueue();
    const overhead = 'service/web'.length + UNAPPLIED_OVERHEAD_BYTES;
    enqueue(queue, response(WEB, 'n1', UNAPPLIED_BYTES_MAX - overhead - 1));
    assert.equal(isFull(queue), false);
    enqueue(queue, response(WEB, 'n2', UNAPPLIED_BYTES_MAX - overhead - UNAPPLIED_OVERHEAD_BYTES));
    assert.equal(isFull(queue), true);
    clearApplyQueue(queue);
    assert.deepEqual([queue.bytes, queue.pending.size], [0, 0]);
  });

  it('counts the nonces of replaced responses', () => {
    const queue = createApplyQueue();
    for (let number = 0; !isFull(queue); number++) enqueue(queue, response(WEB, `n${number}`, 0));
    assert.ok((queue.pending.peek()?.nonces.length ?? 0) <= UNAPPLIED_BYTES_MAX / UNAPPLIED_OVERHEAD_BYTES);
  });

  it('throws when a task that was not started finishes', () => {
    assert.throws(() => finishApply(createApplyQueue(), WEB, true, 0), RangeError);
  });
});
