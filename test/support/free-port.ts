import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * Below the ports that systems give to outgoing connections (32768 and up on Linux): one of those may be taken in the
 * moment between finding a port and using it.
 */
const FIRST = 10_000;
const LAST = 32_000;
/**
 * Ports come in slices, and a slice belongs to one process: a server that is down for a moment, or a port on which nobody
 * is to listen, must not meet a test of another process that is given the same one.
 */
const SLICE_PORTS = 200;
const TRIES_MAX = 100;

/** Of the slices of this process, those that were not given yet. */
const left: number[] = [];
let taking: Promise<void> | undefined;

/** A port of loopback that nobody listened on a moment ago, and that is given once. @throws Error when there is none */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = left.shift();
    if (port === undefined) {
      taking ??= takeSlice().finally(() => {
        taking = undefined;
      });
      await taking;
    } else if (await isFree(port)) return port;
  }
}

/** Whoever listens on the first port of a slice has the others, for as long as it lives. */
async function takeSlice(): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const slice = Math.floor((Math.random() * (LAST - FIRST)) / SLICE_PORTS);
    const first = FIRST + slice * SLICE_PORTS;
    const guard = createServer().unref();
    if (!(await listens(guard, first))) continue;
    left.push(...Array.from({ length: SLICE_PORTS - 1 }, (_, i) => first + 1 + i));
    return;
  }
  throw new Error(`no slice of ports between ${FIRST} and ${LAST} is free, in ${TRIES_MAX} tries`);
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  if (!(await listens(probe, port))) return false;
  probe.close();
  await once(probe, 'close');
  return true;
}

async function listens(server: Server, port: number): Promise<boolean> {
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  }
}
