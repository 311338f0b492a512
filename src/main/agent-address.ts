/** Derives the address of the local agent's node from the settings and the network interfaces. */
import type { NetworkInterfaceInfo } from 'node:os';
import { isWildcard } from '../config/network-kinds.ts';

export interface AgentAddress {
  /** The address of the server's node in the catalog. */
  readonly address: string;
  /** Whether a service without an address of its own is reachable at `address`. */
  readonly isServiceAddress: boolean;
}

/**
 * Returns the host of `http.address`. If that is a wildcard address, returns the first address of the machine that is
 * neither internal nor link-local, IPv4 before IPv6. That address identifies the machine but may be wrong for a
 * service, so services must then give their own.
 * @param interfaces the result of `os.networkInterfaces`
 */
export function agentAddress(
  host: string,
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>,
): AgentAddress {
  if (!isWildcard(host)) return { address: host, isServiceAddress: true };
  const reached = Object.values(interfaces)
    .flatMap((infos) => infos ?? [])
    .filter(({ internal, address }) => !internal && !isLinkLocal(address));
  const first = reached.find(({ family }) => family === 'IPv4') ?? reached[0];
  // A machine without a network is reachable only from itself.
  return { address: first?.address ?? '127.0.0.1', isServiceAddress: false };
}

/** Whether the address is valid on one link only. */
const isLinkLocal = (address: string): boolean => /^(?:169\.254\.|fe[89ab].:)/i.test(address);
