/** What a peering service says of its version and its clock. Others than Accord say nothing, and that is fine. */
import type { X509Certificate } from 'node:crypto';
import { ACCORD_TIME_HEADER, ACCORD_VERSION_HEADER } from '../stream/wire/headers.ts';
import { peerVersionProblem } from '../stream/wire/peer-version.ts';
import { CLOCK_WARNING_MS, FOREIGN_TEXT_LENGTH_MAX } from './limits.ts';
import type { Said } from './probe-peer.ts';
import { type Check, faulty, passed, skipped } from './report.ts';

const UNTOLD = 'the other side does not say';

/** @param ours the version of this server */
export function checkVersion({ metadata }: Pick<Said, 'metadata'>, ours: string): Check {
  const theirs = metadata.get(ACCORD_VERSION_HEADER);
  if (theirs === null) return skipped('version', UNTOLD);
  const problem = peerVersionProblem(theirs, ours);
  if (problem !== undefined) return faulty('version-old', problem);
  return passed('version', `there ${theirs.slice(0, FOREIGN_TEXT_LENGTH_MAX)}, here ${ours}`);
}

/**
 * Compares the clocks. How far they may differ is what the other side's certificate allows: if it is not valid by the
 * clock over there, one made here with the clock over there would not be, either.
 */
export function checkClock(
  { metadata, atMs, uncertaintyMs }: Said,
  certificate: Pick<X509Certificate, 'validFromDate' | 'validToDate'>,
): Check {
  const header = metadata.get(ACCORD_TIME_HEADER);
  const theirMs = header === null ? Number.NaN : Date.parse(header);
  if (Number.isNaN(theirMs)) return skipped('clock', UNTOLD);
  const aheadMs = theirMs - atMs;
  const detail = `theirs is ${seconds(aheadMs)} ours, give or take ${(uncertaintyMs / 1_000).toFixed(1)} s`;
  const isValidThere = theirMs >= certificate.validFromDate.getTime() && theirMs <= certificate.validToDate.getTime();
  if (!isValidThere) return faulty('clock-far', detail);
  return Math.abs(aheadMs) - uncertaintyMs > CLOCK_WARNING_MS ? faulty('clock-off', detail) : passed('clock', detail);
}

const seconds = (ms: number): string => `${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms < 0 ? 'behind' : 'ahead of'}`;
