import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { UNAPPLIED_BYTES_MAX, UNAPPLIED_OVERHEAD_BYTES } from '../limits.ts';
import { RESOURCE_KINDS, type ResourceKey } from '../wire/resources.ts';
import { beginNext, createApplyQueue, discard, enqueue, finish, isFull } from './apply-queue.ts';

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

suite('a queue of responses', () => {
  test('answers for every nonce once, in order for each resource, and counts its bytes down to nothing', () => {
    const key = fc.constantFrom(...KEYS);
    const action = fc.oneof(fc.record({ receive: key }), fc.record({ finish: fc.nat() }));
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
        const queue = createApplyQueue();
        const received: string[] = [];
        const answered: string[] = [];
        const begin = (): void => {
          while (beginNext(queue, 0) !== undefined);
          const kinds = [...queue.applying.values()].map((application) => application.key.kind);
          assert.ok(!kinds.includes('list') || kinds.length === 1, 'a list is alone');
        };
        const finishOne = (pick: number): void => {
          const under = [...queue.applying.values()];
          const chosen = under[pick % under.length];
          if (chosen !== undefined) answered.push(...finish(queue, chosen.key, true, 0).nonces);
        };
        for (const [number, each] of actions.entries()) {
          if ('receive' in each) {
            received.push(String(number));
            enqueue(queue, response(each.receive, String(number)));
          } else finishOne(each.finish);
          begin();
        }
        while (queue.applying.size > 0) {
          finishOne(0);
          begin();
        }
        assert.deepEqual(answered.sort(), received.sort());
        assert.equal(queue.bytes, 0);
      }),
    );
  });

  test('is full at its bytes, and not before', () => {
    const queue = createApplyQueue();
    const overhead = 'service/web'.length + UNAPPLIED_OVERHEAD_BYTES;
    enqueue(queue, response(WEB, 'n1', UNAPPLIED_BYTES_MAX - overhead - 1));
    assert.equal(isFull(queue), false);
    enqueue(queue, response(WEB, 'n2', UNAPPLIED_BYTES_MAX - overhead - UNAPPLIED_OVERHEAD_BYTES));
    assert.equal(isFull(queue), true);
    discard(queue);
    assert.deepEqual([queue.bytes, queue.waiting.size], [0, 0]);
  });

  test('counts the nonces that a waiting response has collected', () => {
    const queue = createApplyQueue();
    for (let number = 0; !isFull(queue); number++) enqueue(queue, response(WEB, `n${number}`, 0));
    assert.ok((queue.waiting.peek()?.nonces.length ?? 0) <= UNAPPLIED_BYTES_MAX / UNAPPLIED_OVERHEAD_BYTES);
  });

  test('refuses the end of what was not begun', () => {
    assert.throws(() => finish(createApplyQueue(), WEB, true, 0), RangeError);
  });
});
