/** The key of a client's address in budgets and rates. */

const IPV4_IN_IPV6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Groups of 16 bits in the prefix of an IPv6 address that one network gets: a /64. */
const PREFIX_GROUPS = 4;
const ADDRESS_GROUPS = 8;

/**
 * Returns the key of an address as sockets report it: an IPv4 address itself, also if it is mapped into IPv6, and the
 * /64 of an IPv6 address, because a client can use every address of its /64.
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return '';
  if (!address.includes(':')) return address;
  const [, mapped] = IPV4_IN_IPV6.exec(address) ?? [];
  return mapped ?? prefixOf(address);
}

function prefixOf(address: string): string {
  const [start = '', end] = (address.split('%', 1)[0] ?? '').split('::', 2);
  const first = groupsOf(start);
  if (end !== undefined) {
    const last = groupsOf(end);
    while (first.length + last.length < ADDRESS_GROUPS) first.push('0');
    first.push(...last);
  }
  return `${first.slice(0, PREFIX_GROUPS).join(':')}::/64`;
}

const groupsOf = (text: string): string[] => (text === '' ? [] : text.toLowerCase().split(':'));
