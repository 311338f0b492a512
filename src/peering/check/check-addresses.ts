/** All addresses of another cluster, at the same time. */
import { ADDRESSES_MAX } from '../limits.ts';
import { checkAddress, type Peer, type Surroundings } from './check-address.ts';
import type { Check } from './report.ts';

/**
 * The checks of every address. One that works is enough for a peering, so what fails at others is a warning then. More
 * than there may be are left alone.
 */
export async function checkAddresses(
  around: Surroundings,
  addresses: readonly string[],
  peer: Peer,
  signal: AbortSignal,
): Promise<Check[]> {
  const each = await Promise.all(
    addresses.slice(0, ADDRESSES_MAX).map((address) => checkAddress(around, address, peer, signal)),
  );
  const works = each.some((checks) => checks.every(({ Status }) => Status !== 'failed'));
  return each.flat().map((check) => (works && check.Status === 'failed' ? { ...check, Status: 'warning' } : check));
}
