/** What the record of a peering says by itself, before anything is tried. */
import { isIPv4 } from 'node:net';
import type { DeepReadonly } from '../../state/table.ts';
import type { DeadLink, Peering } from '../record/record.ts';
import { type AcceptedSecrets, isOutstanding } from '../record/secrets.ts';
import type { FaultCode } from './findings.ts';
import { type Check, faulty, passed, skipped } from './report.ts';

type Row = DeepReadonly<Peering>;

const ROLES = {
  accepting: 'accepting: the other cluster dials, so what is on the way can be checked there only',
  dialing: 'dialing: this cluster opens the stream',
} as const;

/** Which side of the peering this is. */
export const checkRole = ({ role }: Row): Check => passed('role', ROLES[role]);

/** Whether there is a stream, and why not. @param hasLink dialing side: whether there is a secret to open one with */
export function checkStream(row: Row, hasLink = true): Check {
  const { state, failing, deletedAt, epoch } = row;
  if (state === 'ACTIVE') return passed('stream', 'ACTIVE');
  if (state === 'TERMINATED') {
    return deletedAt === undefined ? faulty('deleted-there') : faulty('deleted-here', `at ${deletedAt}`);
  }
  if (!hasLink) return faulty('link-missing');
  if (failing === undefined) return faulty('stream-not-yet');
  const before = epoch === 0 ? 'there has never been one' : 'there was one before';
  const code = failing.link === undefined ? 'stream-failing' : DEAD_LINKS[failing.link];
  return faulty(code, `${failing.reason}, since ${failing.since}; ${before}`);
}

const DEAD_LINKS = { refused: 'stream-secret-refused', unknown: 'stream-unknown-there' } as const satisfies Readonly<
  Record<DeadLink, FaultCode>
>;

/** The accepting side: whether a token waits to be used, or was used. */
export function checkOutstanding(row: Row, secrets: DeepReadonly<AcceptedSecrets> | undefined, nowMs: number): Check {
  if (row.state === 'TERMINATED') return skipped('token');
  const used = secrets?.active !== undefined || secrets?.pending !== undefined;
  const { establishment } = secrets ?? {};
  if (establishment === undefined) return used ? passed('token', 'it was used') : faulty('token-missing');
  const { createTime, expirationTime } = establishment;
  if (isOutstanding(establishment, nowMs)) {
    return passed('token', `one made at ${createTime} waits to be used, until ${expirationTime ?? 'it is revoked'}`);
  }
  const expired = `at ${expirationTime}`;
  return used ? passed('token', `one was used; a later one has expired ${expired}`) : faulty('token-expired', expired);
}

/** The accepting side: what its tokens name as its addresses. */
export function checkAdvertised(addresses: readonly string[]): Check {
  const detail = addresses.join(', ');
  return addresses.some(isLoopback) ? faulty('advertise-loopback', detail) : passed('advertise', detail);
}

/** Of `host:port`. */
function isLoopback(address: string): boolean {
  const host = address.slice(0, address.lastIndexOf(':')).toLowerCase();
  return (
    host === '[::1]' || host === 'localhost' || host.endsWith('.localhost') || (isIPv4(host) && host.startsWith('127.'))
  );
}
