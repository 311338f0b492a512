/** A server that is killed again and again while clients write and read. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { createRandom } from '../random.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { type Server, type ServerOptions, startServer } from './server.ts';
import { type StormClients, startClients } from './storm-clients.ts';

export interface KillStorm {
  readonly rounds: number;
  readonly seed: number;
  /** Settings of the server that lives in a round. */
  readonly settings: (round: number) => Readonly<Record<string, string>>;
}

/** A server lives at most this long after it has begun to serve. */
const LIFE_MS = 300;
/** One in so many is killed before it has loaded its state. */
const UNREADY_SHARE = 0.2;

/** Runs it, and verifies after the last kill that nothing acknowledged is lost. @returns how the writes ended */
export async function runKillStorm({ rounds, seed, settings }: KillStorm): Promise<StormClients['counts']> {
  await using directory = await temporaryDirectory();
  const random = createRandom(seed);
  const address = `127.0.0.1:${await freePort()}`;
  const options = (round: number): ServerOptions => ({
    dataDirectory: directory.path,
    settings: { 'http.address': address, ...settings(round) },
  });
  let server = await startServer(options(0));
  try {
    await using clients = startClients({
      addresses: [`http://${address}`],
      token: server.token,
      random: random.fork(),
    });
    for (let round = 1; round <= rounds; round += 1) {
      await Promise.race([delay(random.below(LIFE_MS)), clients.failure]);
      await server.stop('SIGKILL');
      server = await startServer({ ...options(round), unready: random.chance(UNREADY_SHARE) });
    }
    server = await settled(server, options(rounds + 1));
    const { done } = clients;
    while (clients.done < done + 10) await Promise.race([delay(10), clients.failure]);
    await clients.stop();
    await clients.verify();
    assert.ok(clients.counts.done > rounds, 'clients came to write in between');
    return clients.counts;
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

/** The last one may not be ready yet. */
async function settled(server: Server, next: ServerOptions): Promise<Server> {
  await server.stop('SIGKILL');
  return await startServer(next);
}
