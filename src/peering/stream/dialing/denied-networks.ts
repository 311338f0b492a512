/**
 * The networks that this server never dials, because an address comes from a token or from another cluster
 * ([PEER-105]). They apply to the addresses that a name resolves to, when the connection is made.
 */
import { lookup } from 'node:dns';
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net';

export interface DeniedNetworks {
  /** @param address an IP address */
  includes(address: string): boolean;
}

/** @param networks `address/prefix`, as in `peering.deny-networks` */
export function createDeniedNetworks(networks: readonly string[]): DeniedNetworks {
  const denied = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    if (isIPv4(address)) {
      denied.addSubnet(address, Number(prefix), 'ipv4');
      // Translators reach an IPv4 address through this prefix (RFC 6052). The list itself covers mapped addresses.
      denied.addSubnet(`64:ff9b::${address}`, 96 + Number(prefix), 'ipv6');
    } else {
      denied.addSubnet(address, Number(prefix), 'ipv6');
    }
  }
  return {
    includes(address) {
      const [bare = ''] = address.split('%');
      return isIP(bare) !== 0 && denied.check(bare, isIPv4(bare) ? 'ipv4' : 'ipv6');
    },
  };
}

/** The error of a connection to a denied network. */
export class DeniedAddressError extends Error {
  readonly code = 'ERR_ADDRESS_DENIED';
  constructor(host: string) {
    super(`${host} is in a network of peering.deny-networks`);
    this.name = 'DeniedAddressError';
  }
}

/** Returns a lookup for connections that leaves out denied addresses, and fails if no other is left. */
export const guardedLookup =
  (denied: DeniedNetworks): LookupFunction =>
  (host, options, answer) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      const allowed = (addresses ?? []).filter(({ address }) => !denied.includes(address));
      const [first] = allowed;
      if (error !== null) answer(error, []);
      else if (first === undefined) answer(new DeniedAddressError(host), []);
      else if (options.all === true) answer(null, allowed);
      else answer(null, first.address, first.family);
    });
  };
