/**
 * A bare `node:http` server that returns given bytes. It answers requests to `/held` only after a request to
 * `/release`.
 */
import { once } from 'node:events';
import http from 'node:http';

const [{ headers, body }] = (await once(process, 'message')) as [{ headers: string[]; body: string }];
const bytes = Buffer.from(body);
const held: http.ServerResponse[] = [];

const answer = (response: http.ServerResponse): void => {
  response.writeHead(200, headers);
  response.end(bytes);
};

const server = http.createServer((request, response) => {
  if (request.url === '/held') {
    held.push(response);
  } else if (request.url === '/release') {
    for (const waiting of held.splice(0)) answer(waiting);
    answer(response);
  } else if (request.method === 'GET') {
    answer(response);
  } else {
    request.resume();
    request.on('end', () => answer(response));
  }
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.(address.port);
});
process.on('disconnect', () => process.exit());
