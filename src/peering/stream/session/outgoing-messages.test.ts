import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { heartbeatMessage } from '../wire/messages.ts';
import { createOutgoingMessages, type OutgoingMessages } from './outgoing-messages.ts';

interface Attached {
  readonly outgoing: OutgoingMessages;
  readonly reader: AsyncIterator<unknown>;
  readonly calls: string[];
}

function attach(): Attached {
  const calls: string[] = [];
  const outgoing = createOutgoingMessages({
    onReady: () => calls.push('ready'),
    onCanceled: () => calls.push('canceled'),
  });
  return { outgoing, calls, reader: outgoing.messages[Symbol.asyncIterator]() };
}

describe('outgoing messages', () => {
  it('report when the transport is ready and deliver the message that is sent', async () => {
    const { outgoing, reader, calls } = attach();
    const next = reader.next();
    assert.deepEqual(calls, ['ready']);
    const message = heartbeatMessage();
    outgoing.send(message);
    assert.deepEqual(await next, { done: false, value: message });
  });

  it('end a pending call of next, with or without an error', async () => {
    for (const error of [undefined, new Error('over')]) {
      const { outgoing, reader } = attach();
      const next = reader.next();
      outgoing.end(error);
      if (error === undefined) assert.equal((await next).done, true);
      else await assert.rejects(next, error);
      assert.equal((await reader.next()).done, true);
    }
  });

  it('keep the end error for the next call, once', async () => {
    const { outgoing, reader, calls } = attach();
    const error = new Error('over');
    outgoing.end(error);
    await assert.rejects(reader.next(), error);
    assert.equal((await reader.next()).done, true);
    assert.deepEqual(calls, []);
  });

  it('report cancellation once and not after the end', async () => {
    const { outgoing, reader, calls } = attach();
    await reader.return?.();
    await reader.throw?.(new Error('again'));
    outgoing.end(undefined);
    assert.deepEqual(calls, ['canceled']);
  });

  it('reject a second call of next while one is pending', async () => {
    const { outgoing, reader } = attach();
    const next = reader.next();
    await assert.rejects(reader.next(), RangeError);
    outgoing.end(undefined);
    await next;
  });
});
