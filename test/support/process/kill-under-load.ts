/** Kills a server repeatedly while clients write and read. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { createRandom } from '../random.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { type LoadClients, startLoadClients } from './load-clients.ts';
import { type ServerOptions, startServer } from './server.ts';

export interface KillOptions {
  readonly rounds: number;
  readonly seed: number;
  /** The settings of the server in a round. */
  readonly settings: (round: number) => Readonly<Record<string, string>>;
}

/** Upper bound of the time between the start and the kill of a server. */
const LIFETIME_MS_MAX = 300;
/** Probability that a server is killed before it has loaded its state. */
const EARLY_KILL_PROBABILITY = 0.2;

/** Kills the server once per round, and verifies that no acknowledged write is lost. @returns writes per outcome */
export async function killUnderLoad({ rounds, seed, settings }: KillOptions): Promise<LoadClients['counts']> {
  await using directory = await temporaryDirectory();
  const random = createRandom(seed);
  const address = `127.0.0.1:${await freePort()}`;
  const options = (round: number): ServerOptions => ({
    dataDirectory: directory.path,
    settings: { 'http.address': address, ...settings(round) },
  });
  let server = await startServer(options(0));
  try {
    await using clients = startLoadClients({
      addresses: [`http://${address}`],
      token: server.token,
      random: random.fork(),
    });
    for (let round = 1; round <= rounds; round += 1) {
      await Promise.race([delay(random.below(LIFETIME_MS_MAX)), clients.failure]);
      await server.stop('SIGKILL');
      server = await startServer({ ...options(round), resolveWhenListening: random.chance(EARLY_KILL_PROBABILITY) });
    }
    // The server of the last round may not be ready yet.
    await server.stop('SIGKILL');
    server = await startServer(options(rounds + 1));
    const { acknowledged } = clients;
    while (clients.acknowledged < acknowledged + 10) await Promise.race([delay(10), clients.failure]);
    await clients.stop();
    await clients.verify();
    assert.ok(clients.counts.acknowledged > rounds, 'clients wrote between the kills');
    return clients.counts;
  } finally {
    await server[Symbol.asyncDispose]();
  }
}
