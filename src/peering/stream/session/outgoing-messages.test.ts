import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { heartbeatMessage } from '../wire/messages.ts';
import { createMessagePort, type MessagePort } from './outgoing-messages.ts';

interface Attached {
  readonly port: MessagePort;
  readonly reader: AsyncIterator<unknown>;
  readonly heard: string[];
}

function attach(): Attached {
  const heard: string[] = [];
  const port = createMessagePort({
    onAsked: () => heard.push('asked'),
    onAbandoned: () => heard.push('abandoned'),
  });
  return { port, heard, reader: port.messages[Symbol.asyncIterator]() };
}

suite('the way out of a session', () => {
  test('says when a message is asked for, and answers with what is given', async () => {
    const { port, reader, heard } = attach();
    const next = reader.next();
    assert.deepEqual(heard, ['asked']);
    const message = heartbeatMessage();
    port.give(message);
    assert.deepEqual(await next, { done: false, value: message });
  });

  test('ends while it is asked, with an error or without', async () => {
    for (const error of [undefined, new Error('over')]) {
      const { port, reader } = attach();
      const next = reader.next();
      port.finish(error);
      if (error === undefined) assert.equal((await next).done, true);
      else await assert.rejects(next, error);
      assert.equal((await reader.next()).done, true);
    }
  });

  test('keeps the error for who asks next, once', async () => {
    const { port, reader, heard } = attach();
    const error = new Error('over');
    port.finish(error);
    await assert.rejects(reader.next(), error);
    assert.equal((await reader.next()).done, true);
    assert.deepEqual(heard, []);
  });

  test('tells once that it was abandoned, and not after its end', async () => {
    const { port, reader, heard } = attach();
    await reader.return?.();
    await reader.throw?.(new Error('again'));
    port.finish(undefined);
    assert.deepEqual(heard, ['abandoned']);
  });

  test('is asked by one reader at a time', async () => {
    const { port, reader } = attach();
    const next = reader.next();
    await assert.rejects(reader.next(), RangeError);
    port.finish(undefined);
    await next;
  });
});
