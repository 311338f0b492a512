/** The checks of a peer's version and clock. Only Accord servers report them, so for other peers they are skipped. */
import type { X509Certificate } from 'node:crypto';
import { ACCORD_TIME_HEADER, ACCORD_VERSION_HEADER } from '../stream/wire/headers.ts';
import { peerVersionProblem } from '../stream/wire/peer-version.ts';
import { CLOCK_WARNING_MS, FOREIGN_TEXT_LENGTH_MAX } from './limits.ts';
import type { PeerInfo } from './probe-peer.ts';
import { type Check, finding, passed, skipped } from './report.ts';

const NOT_REPORTED = 'the other side does not report it';

export function checkVersion({ metadata }: Pick<PeerInfo, 'metadata'>, ours: string): Check {
  const theirs = metadata.get(ACCORD_VERSION_HEADER);
  if (theirs === null) return skipped('version', NOT_REPORTED);
  const problem = peerVersionProblem(theirs, ours);
  if (problem !== undefined) return finding('version-old', problem);
  return passed('version', `${theirs.slice(0, FOREIGN_TEXT_LENGTH_MAX)} there, ${ours} here`);
}

/**
 * Compares the clocks. The limit is the validity of the other side's certificate: when it is not valid by the other
 * side's clock, certificates of one cluster are not valid for the other.
 */
export function checkClock(
  { metadata, atMs, uncertaintyMs }: PeerInfo,
  certificate: Pick<X509Certificate, 'validFromDate' | 'validToDate'>,
): Check {
  const header = metadata.get(ACCORD_TIME_HEADER);
  const theirMs = header === null ? Number.NaN : Date.parse(header);
  if (Number.isNaN(theirMs)) return skipped('clock', NOT_REPORTED);
  const aheadMs = theirMs - atMs;
  const detail = `theirs is ${seconds(aheadMs)} ours, within ${(uncertaintyMs / 1_000).toFixed(1)} s`;
  const isValidThere = theirMs >= certificate.validFromDate.getTime() && theirMs <= certificate.validToDate.getTime();
  if (!isValidThere) return finding('clock-far', detail);
  return Math.abs(aheadMs) - uncertaintyMs > CLOCK_WARNING_MS ? finding('clock-off', detail) : passed('clock', detail);
}

const seconds = (ms: number): string => `${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms < 0 ? 'behind' : 'ahead of'}`;
