/** The limit on the bytes of a call before it is authorized. */
import { Code, ConnectError } from '@connectrpc/connect';
import { UNAUTHENTICATED_BYTES_MAX } from '../../limits.ts';

/** The gRPC prefix of a message: a flag and its length. */
const PREFIX_BYTES = 5;

/**
 * Passes on the body of a call. Until `isAuthorized`, it rejects a call that sends, or announces a message of, more
 * than `UNAUTHENTICATED_BYTES_MAX` bytes ([STREAM-32]). The buffer of a message is allocated when its length is known,
 * so a prefix of 5 bytes could allocate 8 MiB.
 * @throws ConnectError `resource-exhausted`
 */
export async function* limitUnauthenticatedBytes(
  body: AsyncIterable<Uint8Array>,
  isAuthorized: () => boolean,
): AsyncGenerator<Uint8Array> {
  const largestMessage = messageLengthReader();
  let bytes = 0;
  for await (const chunk of body) {
    if (!isAuthorized()) {
      bytes += chunk.byteLength;
      if (bytes > UNAUTHENTICATED_BYTES_MAX || largestMessage(chunk) > UNAUTHENTICATED_BYTES_MAX) {
        const text = `more than ${UNAUTHENTICATED_BYTES_MAX} bytes before the stream was authorized`;
        throw new ConnectError(text, Code.ResourceExhausted);
      }
    }
    yield chunk;
  }
}

/** Returns a function that parses successive chunks of a body and returns the largest message length in a chunk. */
function messageLengthReader(): (chunk: Uint8Array) => number {
  const prefix = new DataView(new ArrayBuffer(PREFIX_BYTES));
  let prefixBytes = 0;
  let messageBytes = 0;
  return (chunk) => {
    let largest = 0;
    let at = 0;
    while (at < chunk.byteLength) {
      if (messageBytes > 0) {
        const skipped = Math.min(messageBytes, chunk.byteLength - at);
        messageBytes -= skipped;
        at += skipped;
        continue;
      }
      prefix.setUint8(prefixBytes, chunk[at] ?? 0);
      prefixBytes += 1;
      at += 1;
      if (prefixBytes < PREFIX_BYTES) continue;
      prefixBytes = 0;
      messageBytes = prefix.getUint32(1);
      largest = Math.max(largest, messageBytes);
    }
    return largest;
  };
}
