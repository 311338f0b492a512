/** The checks of a peering's record, which need no connection. */
import { isIPv4 } from 'node:net';
import type { DeepReadonly } from '../../state/table.ts';
import type { DeadLink, Peering } from '../record/record.ts';
import { type AcceptedSecrets, isOutstanding } from '../record/secrets.ts';
import type { FindingCode } from './findings.ts';
import { type Check, finding, passed, skipped } from './report.ts';

type Row = DeepReadonly<Peering>;

const ROLES = {
  accepting: 'accepting: the other cluster dials, so check the connection there',
  dialing: 'dialing: this cluster opens the stream',
} as const;

export const checkRole = ({ role }: Row): Check => passed('role', ROLES[role]);

/** Checks whether a stream is open. @param hasLink whether the dialing side has a secret to open one with */
export function checkStream(row: Row, hasLink = true): Check {
  const { state, failing, deletedAt, epoch } = row;
  if (state === 'ACTIVE') return passed('stream', 'ACTIVE');
  if (state === 'TERMINATED') {
    return deletedAt === undefined ? finding('deleted-there') : finding('deleted-here', `at ${deletedAt}`);
  }
  if (!hasLink) return finding('link-missing');
  if (failing === undefined) return finding('stream-not-yet');
  const history = epoch === 0 ? 'none was open before' : 'one was open before';
  const code = failing.link === undefined ? 'stream-failing' : DEAD_LINKS[failing.link];
  return finding(code, `${failing.reason}, since ${failing.since}; ${history}`);
}

const DEAD_LINKS = { refused: 'stream-secret-refused', unknown: 'stream-unknown-there' } as const satisfies Readonly<
  Record<DeadLink, FindingCode>
>;

/** Checks, on the accepting side, whether a token is unused or was used. */
export function checkTokenUse(row: Row, secrets: DeepReadonly<AcceptedSecrets> | undefined, nowMs: number): Check {
  if (row.state === 'TERMINATED') return skipped('token');
  const used = secrets?.active !== undefined || secrets?.pending !== undefined;
  const { establishment } = secrets ?? {};
  if (establishment === undefined) return used ? passed('token', 'used') : finding('token-missing');
  const { createTime, expirationTime } = establishment;
  if (isOutstanding(establishment, nowMs)) {
    return passed('token', `unused; generated at ${createTime}, ${validUntil(expirationTime)}`);
  }
  const expired = `at ${expirationTime}`;
  return used ? passed('token', `used; a later token expired ${expired}`) : finding('token-expired', expired);
}

const validUntil = (expirationTime: string | undefined): string =>
  expirationTime === undefined ? 'does not expire' : `expires at ${expirationTime}`;

/** Checks, on the accepting side, the addresses in its tokens. */
export function checkAdvertised(addresses: readonly string[]): Check {
  const detail = addresses.join(', ');
  return addresses.some(isLoopback) ? finding('advertise-loopback', detail) : passed('advertise', detail);
}

function isLoopback(address: string): boolean {
  const host = address.slice(0, address.lastIndexOf(':')).toLowerCase();
  return (
    host === '[::1]' || host === 'localhost' || host.endsWith('.localhost') || (isIPv4(host) && host.startsWith('127.'))
  );
}
