/** Starts the peering service on the state of an API in the test's own process. */
import { createLog } from '../../../src/http/telemetry/log.ts';
import { type PeeringOptions, type RunningPeering, startPeering } from '../../../src/peering/run/start-peering.ts';
import { systemClock } from '../../../src/state/clock/clock.ts';
import type { Api } from '../process/api.ts';

/** Starts the listener on a free port of loopback. @param lines receives every log line, from level debug */
export function startPeeringService(
  { peering: { credentials }, reads }: Api,
  lines: string[],
  parts: Pick<PeeringOptions, 'sessions'> & Partial<Pick<PeeringOptions, 'clock' | 'streamsMax' | 'dataKey' | 'node'>>,
): Promise<RunningPeering> {
  const destination = { write: (line: string) => void lines.push(line) };
  return startPeering({
    credentials,
    node: 'a',
    clock: systemClock,
    log: createLog({ level: 'debug', format: 'json', destination }),
    dataKey: undefined,
    reads,
    version: '1.13.0',
    consul: false,
    agent: { address: '127.0.0.1', isServiceAddress: true },
    listen: { host: '127.0.0.1', port: 0 },
    advertise: undefined,
    denyNetworks: [],
    tokenTtlMs: 0,
    peeringsMax: 1_000,
    streamsMax: 1_000,
    random: () => 0.5,
    ...parts,
  });
}
