/** Opens many connections with one request on each, and reports the times of the responses to the parent process. */
import { once } from 'node:events';
import net from 'node:net';
import type { BlockingClientOptions } from './blocking-clients.ts';

const { port, request, count } = JSON.parse(process.argv[2] ?? '{}') as BlockingClientOptions;
/** Connections that are opened in parallel. More would overflow the accept queue of the server. */
const PARALLELISM = 200;

const answerTimes: number[] = [];
const sockets: net.Socket[] = [];
for (let first = 0; first < count; first += PARALLELISM) {
  const opening = Array.from({ length: Math.min(PARALLELISM, count - first) }, async () => {
    const socket = net.connect(port, '127.0.0.1');
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(request);
    // A small response arrives in one chunk.
    socket.once('data', () => {
      answerTimes.push(performance.timeOrigin + performance.now());
      if (answerTimes.length === count) process.send?.(answerTimes);
    });
  });
  await Promise.all(opening);
}
process.send?.('sent');
process.on('disconnect', () => process.exit());
