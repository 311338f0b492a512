/** What a stranger may send before it has shown a secret. */
import { Code, ConnectError } from '@connectrpc/connect';
import { UNPROVEN_BYTES_MAX } from '../../limits.ts';

/** Of gRPC: a flag, and the length of the message that follows. */
const PREFIX_BYTES = 5;

/**
 * The body of a call as it is, until its sender has sent more than strangers need, or says that it will: room for a
 * message is made when its length is known, so five bytes could take eight megabytes. Once `isProven`, all of it passes.
 * @throws ConnectError `resource-exhausted`
 */
export async function* boundedUntil(
  body: AsyncIterable<Uint8Array>,
  isProven: () => boolean,
): AsyncGenerator<Uint8Array> {
  const announced = lengthReader();
  let bytes = 0;
  for await (const chunk of body) {
    if (!isProven()) {
      bytes += chunk.byteLength;
      if (bytes > UNPROVEN_BYTES_MAX || announced(chunk) > UNPROVEN_BYTES_MAX) {
        const text = `more than ${UNPROVEN_BYTES_MAX} bytes before the stream was authorized`;
        throw new ConnectError(text, Code.ResourceExhausted);
      }
    }
    yield chunk;
  }
}

/** Follows the messages of a body. The function gives the largest length that a chunk announces. */
function lengthReader(): (chunk: Uint8Array) => number {
  const prefix = new DataView(new ArrayBuffer(PREFIX_BYTES));
  let have = 0;
  let messageBytes = 0;
  return (chunk) => {
    let largest = 0;
    let at = 0;
    while (at < chunk.byteLength) {
      if (messageBytes > 0) {
        const passed = Math.min(messageBytes, chunk.byteLength - at);
        messageBytes -= passed;
        at += passed;
        continue;
      }
      prefix.setUint8(have, chunk[at] ?? 0);
      have += 1;
      at += 1;
      if (have < PREFIX_BYTES) continue;
      have = 0;
      messageBytes = prefix.getUint32(1);
      largest = Math.max(largest, messageBytes);
    }
    return largest;
  };
}
