import { once } from 'node:events';
import net from 'node:net';
import type { BlockingClientOptions } from './blocking-clients.ts';

const { port, request, count } = JSON.parse(process.argv[2] ?? '{}') as BlockingClientOptions;
/** Connections opened at a time: more would overflow the listener's queue. */
const OPENING = 200;

const answered: number[] = [];
const sockets: net.Socket[] = [];
for (let first = 0; first < count; first += OPENING) {
  const opening = Array.from({ length: Math.min(OPENING, count - first) }, async () => {
    const socket = net.connect(port, '127.0.0.1');
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(request);
    // One small answer arrives in one piece.
    socket.once('data', () => {
      answered.push(performance.timeOrigin + performance.now());
      if (answered.length === count) process.send?.(answered);
    });
  });
  await Promise.all(opening);
}
process.send?.('sent');
process.on('disconnect', () => process.exit());
