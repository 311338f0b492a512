/** Reads the body of a request, up to a limit. */
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors.ts';

export interface BodyLimit {
  readonly bytesMax: number;
  /** The setting to raise. */
  readonly setting: 'limits.body' | 'limits.bulk-body';
}

/** The whole body; `undefined` when there is none, so that nobody waits for nothing. */
export function readBody(request: IncomingMessage, limit: BodyLimit): Promise<Buffer> | undefined {
  const length = request.headers['content-length'];
  if (request.headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return undefined;
  if (Number(length) > limit.bytesMax) return Promise.reject(tooLarge(request, limit));
  return collect(request, limit);
}

function collect(request: IncomingMessage, limit: BodyLimit): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= limit.bytesMax) return;
      request.off('data', onData);
      reject(tooLarge(request, limit));
    };
    request.on('data', onData);
    request.once('end', () => resolve(Buffer.concat(chunks, bytes)));
    // Nobody is left to read what this says.
    request.once('error', (error) => reject(new ServiceError('bad-request', 'the body was cut off', { cause: error })));
  });
}

/**
 * The rest is read and dropped: closing at once would reset the connection before a client that is still sending has
 * read why. The time that a request may take to arrive bounds that.
 */
function tooLarge(request: IncomingMessage, { bytesMax, setting }: BodyLimit): ServiceError {
  request.resume();
  return new ServiceError('too-large', `The request body is larger than ${bytesMax} bytes (${setting})`);
}
