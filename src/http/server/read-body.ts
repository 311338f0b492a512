/** Reads the body of a request up to a limit. */
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors.ts';

export interface BodyLimit {
  readonly bytesMax: number;
  /** The setting that an operator can raise. */
  readonly setting: 'limits.body' | 'limits.bulk-body';
}

/** Reads the whole body. Returns `undefined` if there is no body, so that the caller need not wait for a promise. */
export function readBody(request: IncomingMessage, limit: BodyLimit): Promise<Buffer> | undefined {
  const length = request.headers['content-length'];
  if (request.headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return undefined;
  if (Number(length) > limit.bytesMax) return Promise.reject(bodyTooLarge(request, limit));
  return collectBody(request, limit);
}

function collectBody(request: IncomingMessage, limit: BodyLimit): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= limit.bytesMax) return;
      request.off('data', onData);
      reject(bodyTooLarge(request, limit));
    };
    request.on('data', onData);
    request.once('end', () => resolve(Buffer.concat(chunks, bytes)));
    // The client has disconnected and does not read this message.
    request.once('error', (error) =>
      reject(new ServiceError('bad-request', 'the body is incomplete', { cause: error })),
    );
  });
}

/**
 * Returns the error for a body past its limit, and discards the rest of the body. Closing the connection instead would
 * reset it before a client that is still sending has read the error. The request timeout bounds how long this takes.
 */
function bodyTooLarge(request: IncomingMessage, { bytesMax, setting }: BodyLimit): ServiceError {
  request.resume();
  return new ServiceError('too-large', `The request body is larger than ${bytesMax} bytes (${setting})`);
}
