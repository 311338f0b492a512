/** Answers to what is not a request: garbage, headers without end, silence. There is no response object yet. */
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ServiceError } from '../errors.ts';

/** A socket of Node's HTTP server knows the response that it is busy with. Node's own handler looks at it, too. */
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

/** Says what is wrong in plain text, where that cannot be taken for the answer to another request, and closes. */
export function answerClientError(error: NodeJS.ErrnoException, socket: HttpSocket, id: string): void {
  const busy = socket._httpMessage !== undefined && socket._httpMessage !== null;
  if (error.code === 'ECONNRESET' || !socket.writable || busy) {
    socket.destroy();
    return;
  }
  const { status, message } = explain(error);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(message)}`,
    `X-Request-Id: ${id}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${message}`, () => socket.destroy());
}

function explain({ code }: NodeJS.ErrnoException): ServiceError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ServiceError('headers-too-large', 'The request headers are too large');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ServiceError('too-large', 'The chunk extensions of the request body are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServiceError('request-timeout', 'The request did not arrive in time');
    default:
      return new ServiceError('bad-request', 'The request is not valid HTTP');
  }
}
