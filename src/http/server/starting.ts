/** What a server says before it is open: it lives, and it is not ready. */
import type { IncomingMessage, ServerResponse } from 'node:http';

const RETRY_AFTER_SECONDS = '1';

/** Answers `/healthz` with 200 and everything else with 503. */
export function answerWhileStarting(request: IncomingMessage, response: ServerResponse, id: string): void {
  const lives = request.url === '/healthz' && (request.method === 'GET' || request.method === 'HEAD');
  const text = lives ? 'ok' : 'the server is starting: its state is being loaded';
  const headers = [
    'X-Request-Id',
    id,
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    String(text.length),
  ];
  if (!lives) headers.push('Retry-After', RETRY_AFTER_SECONDS);
  response.writeHead(lives ? 200 : 503, headers);
  response.end(request.method === 'HEAD' ? undefined : text);
}
