/**
 * Measures how long a server holds its event loop. Node.js loads this file before the server's own code. Each connection
 * to the Unix socket LOOP_PROBE receives the longest hold since the previous connection, as JSON.
 *
 * The hold is the CPU time of the main thread between two turns, garbage collection included. Wall time would also
 * measure the other processes of a loaded machine.
 */
import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

const socket = process.env['LOOP_PROBE'];
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

if (isMainThread && socket !== undefined) {
  let last = cpuMs();
  let holdMs = 0;
  setInterval(() => {
    const now = cpuMs();
    holdMs = Math.max(holdMs, now - last);
    last = now;
  }, 1).unref();
  const server = createServer((connection) => {
    connection.end(JSON.stringify({ holdMs }));
    holdMs = 0;
  });
  server.listen(socket);
  server.unref();
}
