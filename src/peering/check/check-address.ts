/** The connection check of the addresses of another cluster: one step after another, until one fails ([PEER-94]). */
import type { Clock } from '../../state/clock/clock.ts';
import { ADDRESSES_MAX } from '../limits.ts';
import { splitAddress } from '../record/server-address.ts';
import type { DeniedNetworks } from '../stream/dialing/denied-networks.ts';
import { checkClock, checkVersion } from './compare-peer-info.ts';
import { connectTcp } from './connect-tcp.ts';
import type { CheckId } from './findings.ts';
import { openTls, type PeerIdentity } from './open-tls.ts';
import { probePeer } from './probe-peer.ts';
import { type Check, finding, skipped } from './report.ts';
import { type Resolve, resolveHost } from './resolve-host.ts';

export interface CheckEnvironment {
  readonly clock: Clock;
  readonly resolve: Resolve;
  readonly denied: DeniedNetworks;
  /** The version of this server. */
  readonly version: string;
  readonly randomId: () => string;
}

export interface Peer extends PeerIdentity {
  /** The other cluster's ID of the peering. */
  readonly id: string;
}

const STEPS: readonly CheckId[] = ['dns', 'tcp', 'tls', 'server-name', 'grpc', 'version', 'clock'];

/** Returns one check per step. The steps after a failed one are skipped. @param address `host:port` */
export async function checkAddress(
  environment: CheckEnvironment,
  address: string,
  peer: Peer,
  signal: AbortSignal,
): Promise<Check[]> {
  const checks: Check[] = [];
  let stepStartMs = environment.clock.monotonic();
  const record = (...results: readonly Check[]): void => {
    const nowMs = environment.clock.monotonic();
    const DurationMs = Math.round((nowMs - stepStartMs) * 10) / 10;
    stepStartMs = nowMs;
    for (const { ID, ...result } of results) {
      const duration = result.Status === 'skipped' ? {} : { DurationMs };
      checks.push({ ID, Address: address, ...result, ...duration });
    }
  };
  await runSteps(environment, address, peer, signal, record);
  const done = new Set(checks.map(({ ID }) => ID));
  record(...STEPS.filter((id) => !done.has(id)).map((id) => skipped(id)));
  return checks;
}

async function runSteps(
  { clock, resolve, denied, version, randomId }: CheckEnvironment,
  address: string,
  peer: Peer,
  signal: AbortSignal,
  record: (...results: readonly Check[]) => void,
): Promise<void> {
  const { host, port } = splitAddress(address);
  using open = new DisposableStack();

  const resolved = await resolveHost(resolve, host, signal);
  record(resolved.check);
  if (resolved.value === undefined) return;

  const allowed = resolved.value.filter((one) => !denied.includes(one.address));
  if (allowed.length === 0) {
    record(finding('tcp-denied'));
    return;
  }
  const tcp = await connectTcp(allowed, port, signal);
  record(tcp.check);
  if (tcp.value === undefined) return;
  const socket = tcp.value;
  open.defer(() => socket.destroy());

  const tlsResult = await openTls(socket, peer, signal);
  record(...tlsResult.checks);
  if (tlsResult.value === undefined) return;

  const probe = { address, peerId: peer.id, unusedSecret: randomId(), version };
  const { check, value: info } = await probePeer(clock, tlsResult.value, probe, signal);
  record(check);
  if (info !== undefined) record(checkVersion(info, version), checkClock(info, tlsResult.value.certificate));
}

/** Checks up to ADDRESSES_MAX addresses in parallel. If one works, failures at the others are warnings ([PEER-96]). */
export async function checkAddresses(
  environment: CheckEnvironment,
  addresses: readonly string[],
  peer: Peer,
  signal: AbortSignal,
): Promise<Check[]> {
  const each = await Promise.all(
    addresses.slice(0, ADDRESSES_MAX).map((address) => checkAddress(environment, address, peer, signal)),
  );
  const isReachable = each.some((checks) => checks.every(({ Status }) => Status !== 'failed'));
  return each
    .flat()
    .map((check) => (isReachable && check.Status === 'failed' ? { ...check, Status: 'warning' } : check));
}
