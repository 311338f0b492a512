/** Everything between this server and one address of another cluster, step by step until one fails. */
import type { Clock } from '../../state/clock/clock.ts';
import { checkClock, checkVersion } from './compare-peer-info.ts';
import { connectTcp } from './connect-tcp.ts';
import type { CheckId } from './findings.ts';
import { openTls, type Proof } from './open-tls.ts';
import { probePeer } from './probe-peer.ts';
import { type Check, skipped } from './report.ts';
import { type Resolve, resolveHost } from './resolve-host.ts';

/** What checks of addresses need from around. */
export interface Surroundings {
  readonly clock: Clock;
  readonly resolve: Resolve;
  /** Of this server. */
  readonly version: string;
  readonly randomId: () => string;
}

/** Another cluster, and how to know that it is the right one. */
export interface Peer extends Proof {
  /** Its ID of the peering. */
  readonly id: string;
}

const STEPS: readonly CheckId[] = ['dns', 'tcp', 'tls', 'server-name', 'grpc', 'version', 'clock'];

/** A check for each step; those after one that failed are skipped. @param address `host:port` */
export async function checkAddress(
  around: Surroundings,
  address: string,
  peer: Peer,
  signal: AbortSignal,
): Promise<Check[]> {
  const checks: Check[] = [];
  let markMs = around.clock.monotonic();
  const note = (...made: readonly Check[]): void => {
    const nowMs = around.clock.monotonic();
    const DurationMs = Math.round((nowMs - markMs) * 10) / 10;
    markMs = nowMs;
    for (const { ID, ...found } of made) {
      const timed = found.Status === 'skipped' ? {} : { DurationMs };
      checks.push({ ID, Address: address, ...found, ...timed });
    }
  };
  await attempt(around, address, peer, signal, note);
  const tried = new Set(checks.map(({ ID }) => ID));
  note(...STEPS.filter((id) => !tried.has(id)).map((id) => skipped(id)));
  return checks;
}

async function attempt(
  { clock, resolve, version, randomId }: Surroundings,
  address: string,
  peer: Peer,
  signal: AbortSignal,
  note: (...made: readonly Check[]) => void,
): Promise<void> {
  const { host, port } = splitAddress(address);
  using open = new DisposableStack();

  const resolved = await resolveHost(resolve, host, signal);
  note(resolved.check);
  if (resolved.value === undefined) return;

  const tcp = await connectTcp(resolved.value, port, signal);
  note(tcp.check);
  if (tcp.value === undefined) return;
  const socket = tcp.value;
  open.defer(() => socket.destroy());

  const secured = await openTls(socket, peer, signal);
  note(...secured.checks);
  if (secured.value === undefined) return;

  const probe = { address, peerId: peer.id, unusedSecret: randomId(), version };
  const { check, value: said } = await probePeer(clock, secured.value, probe, signal);
  note(check);
  if (said !== undefined) note(checkVersion(said, version), checkClock(said, secured.value.certificate));
}

/** The parts of `host:port`; an IPv6 address loses its brackets. */
function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(colon + 1)) };
}
