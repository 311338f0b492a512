import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { framed } from '../../../../test/support/peering/raw-peer.ts';
import { UNPROVEN_BYTES_MAX } from '../../limits.ts';
import { boundedUntil } from './bounded-body.ts';

/** What passes of these chunks, or the code that ends it. */
async function passed(chunks: readonly Uint8Array[], isProven = (): boolean => false): Promise<number | Code> {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  let bytes = 0;
  try {
    for await (const chunk of boundedUntil(body(), isProven)) bytes += chunk.length;
  } catch (error) {
    return ConnectError.from(error).code;
  }
  return bytes;
}

const inBytes = (whole: Buffer): Buffer[] => Array.from(whole, (byte) => Buffer.from([byte]));

describe('the body of a stranger', () => {
  it('passes as it is while it is small, however it is cut', async () => {
    const messages = Buffer.concat([framed(Buffer.alloc(100, 0xff)), framed(Buffer.alloc(0)), framed(Buffer.alloc(7))]);
    assert.equal(await passed([messages]), messages.length);
    assert.equal(await passed(inBytes(messages)), messages.length);
  });

  it('ends where it is too much', async () => {
    assert.equal(await passed([Buffer.alloc(UNPROVEN_BYTES_MAX)]), UNPROVEN_BYTES_MAX);
    assert.equal(await passed([Buffer.alloc(UNPROVEN_BYTES_MAX), Buffer.alloc(1)]), Code.ResourceExhausted);
  });

  it('ends where a message is announced that would be too much, in any place and however it is cut', async () => {
    const large = framed(Buffer.alloc(1), { length: UNPROVEN_BYTES_MAX + 1 });
    const later = Buffer.concat([framed(Buffer.alloc(50, 0xff)), large]);
    for (const chunks of [[large], [later], inBytes(later)]) assert.equal(await passed(chunks), Code.ResourceExhausted);
  });

  it('is not bounded once its sender has shown a secret', async () => {
    const large = framed(Buffer.alloc(10 * UNPROVEN_BYTES_MAX));
    let proven = false;
    assert.equal(await passed([framed(Buffer.alloc(9)), large], () => proven), Code.ResourceExhausted);
    proven = true;
    assert.equal(await passed([framed(Buffer.alloc(9)), large], () => proven), 14 + large.length);
  });
});
