/** The peering service with its listener, streams and jobs, on the state of an API in the test's own process. */
import { createLog } from '../../../src/http/telemetry/log.ts';
import { type PeeringParts, type RunningPeering, startPeering } from '../../../src/peering/start-peering.ts';
import { systemClock } from '../../../src/state/clock/clock.ts';
import type { Api } from '../process/api.ts';

/** Starts it on a free port of loopback. @param lines is given every line that it logs, from debug on */
export function startPeeringOf(
  { peering: { credentials }, reads }: Api,
  lines: string[],
  parts: Pick<PeeringParts, 'sessions'> & Partial<Pick<PeeringParts, 'clock' | 'streamsMax' | 'dataKey' | 'node'>>,
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
    tokenTtlMs: 0,
    peeringsMax: 1_000,
    streamsMax: 1_000,
    random: () => 0.5,
    ...parts,
  });
}
