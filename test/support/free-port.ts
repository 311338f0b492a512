import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * The ports are below the ephemeral ports (32768 and up on Linux), because an outgoing connection could take an
 * ephemeral port between the check and its use.
 */
const PORT_MIN = 10_000;
const PORT_MAX = 32_000;
/**
 * Each test process reserves whole ranges of ports. Tests also use ports that temporarily have no listener, so other
 * processes must never listen on them.
 */
const RANGE_PORTS = 200;
const ATTEMPTS_MAX = 100;

/** The unused ports of the ranges that this process has reserved. */
const unusedPorts: number[] = [];
let reservation: Promise<void> | undefined;

/** Returns a loopback port that has no listener. Returns each port once. @throws Error if no range is free */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = unusedPorts.shift();
    if (port === undefined) {
      reservation ??= reserveRange().finally(() => {
        reservation = undefined;
      });
      await reservation;
    } else if (await isFree(port)) return port;
  }
}

/** Reserves a range for the lifetime of this process, by listening on its first port. */
async function reserveRange(): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const range = Math.floor((Math.random() * (PORT_MAX - PORT_MIN)) / RANGE_PORTS);
    const first = PORT_MIN + range * RANGE_PORTS;
    const guard = createServer().unref();
    if (!(await tryListen(guard, first))) continue;
    unusedPorts.push(...Array.from({ length: RANGE_PORTS - 1 }, (_, i) => first + 1 + i));
    return;
  }
  throw new Error(`found no free range of ports between ${PORT_MIN} and ${PORT_MAX} in ${ATTEMPTS_MAX} attempts`);
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  if (!(await tryListen(probe, port))) return false;
  probe.close();
  await once(probe, 'close');
  return true;
}

async function tryListen(server: Server, port: number): Promise<boolean> {
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  }
}
