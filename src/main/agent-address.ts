/** Where the services of a server's local agent are reached, as far as its settings and its machine tell. */
import type { NetworkInterfaceInfo } from 'node:os';
import { isWildcard } from '../config/network-kinds.ts';

export interface AgentAddress {
  /** Where the server's node is shown. */
  readonly address: string;
  /** Services that say no address of their own are reached there. */
  readonly isServiceAddress: boolean;
}

/**
 * The host of `http.address`. Where that is every address of the machine, nobody can be told to go there: the node is
 * shown at the machine's first address that others reach, IPv4 before IPv6, which is good enough to know the machine by.
 * Which of several is the right one for a service is not: services say that themselves.
 * @param interfaces what `os.networkInterfaces` gives
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
  // A machine without a network is reached from itself alone.
  return { address: first?.address ?? '127.0.0.1', isServiceAddress: false };
}

/** Good on one link only, and not without the link's name. */
const isLinkLocal = (address: string): boolean => /^(?:169\.254\.|fe[89ab].:)/i.test(address);
