import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { grpcFrame } from '../../../../test/support/peering/raw-peer.ts';
import { UNAUTHENTICATED_BYTES_MAX } from '../../limits.ts';
import { limitUnauthenticatedBytes } from './bounded-body.ts';

/** Returns the number of bytes that pass, or the error code. */
async function passed(chunks: readonly Uint8Array[], isAuthorized = (): boolean => false): Promise<number | Code> {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  let bytes = 0;
  try {
    for await (const chunk of limitUnauthenticatedBytes(body(), isAuthorized)) bytes += chunk.length;
  } catch (error) {
    return ConnectError.from(error).code;
  }
  return bytes;
}

const inBytes = (whole: Buffer): Buffer[] => Array.from(whole, (byte) => Buffer.from([byte]));

describe('limitUnauthenticatedBytes', () => {
  it('passes a small body in any chunks', async () => {
    const messages = Buffer.concat([
      grpcFrame(Buffer.alloc(100, 0xff)),
      grpcFrame(Buffer.alloc(0)),
      grpcFrame(Buffer.alloc(7)),
    ]);
    assert.equal(await passed([messages]), messages.length);
    assert.equal(await passed(inBytes(messages)), messages.length);
  });

  it('rejects a body above the limit [STREAM-32]', async () => {
    assert.equal(await passed([Buffer.alloc(UNAUTHENTICATED_BYTES_MAX)]), UNAUTHENTICATED_BYTES_MAX);
    assert.equal(await passed([Buffer.alloc(UNAUTHENTICATED_BYTES_MAX), Buffer.alloc(1)]), Code.ResourceExhausted);
  });

  it('rejects the length of a large message at any position and in any chunks [STREAM-32]', async () => {
    const large = grpcFrame(Buffer.alloc(1), { length: UNAUTHENTICATED_BYTES_MAX + 1 });
    const later = Buffer.concat([grpcFrame(Buffer.alloc(50, 0xff)), large]);
    for (const chunks of [[large], [later], inBytes(later)]) assert.equal(await passed(chunks), Code.ResourceExhausted);
  });

  it('has no limit after authorization', async () => {
    const large = grpcFrame(Buffer.alloc(10 * UNAUTHENTICATED_BYTES_MAX));
    let authorized = false;
    assert.equal(await passed([grpcFrame(Buffer.alloc(9)), large], () => authorized), Code.ResourceExhausted);
    authorized = true;
    assert.equal(await passed([grpcFrame(Buffer.alloc(9)), large], () => authorized), 14 + large.length);
  });
});
