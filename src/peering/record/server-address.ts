/** Syntax of peer server addresses: `host:port`, with an IPv6 address in brackets ([PEER-9]). */
import { isIPv4, isIPv6 } from 'node:net';
import { ServiceError } from '../../http/errors.ts';
import { ADDRESSES_MAX } from '../limits.ts';

const IPV6 = /^\[([^\]]+)\]:(\d{1,5})$/;
const HOST = /^([^:[\]]+):(\d{1,5})$/;
const DNS_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?$/;
/** Digits and dots only. Such a text must be an IPv4 address. */
const NUMBERS = /^[\d.]+$/;
const PORT_MAX = 65_535;

/** Whether `text` is a DNS name rather than an IP address. */
export const isDnsName = (text: string): boolean => DNS_NAME.test(text) && !NUMBERS.test(text);

/** @throws ServiceError `bad-request` naming the first wrong address, or when there are too many */
export function checkServerAddresses(addresses: readonly string[]): void {
  if (addresses.length > ADDRESSES_MAX) {
    const text = `${addresses.length} peering server addresses: want at most ${ADDRESSES_MAX}`;
    throw new ServiceError('bad-request', text);
  }
  for (const address of addresses) {
    if (isServerAddress(address)) continue;
    throw new ServiceError('bad-request', `${address} is not a valid peering server address`);
  }
}

export function isServerAddress(text: string): boolean {
  const [, bracketed, ipv6Port] = IPV6.exec(text) ?? [];
  if (bracketed !== undefined) return isIPv6(bracketed) && isPort(ipv6Port);
  const [, host, port] = HOST.exec(text) ?? [];
  return host !== undefined && (isIPv4(host) || isDnsName(host)) && isPort(port);
}

function isPort(digits: string | undefined): boolean {
  const port = Number(digits);
  return port >= 1 && port <= PORT_MAX;
}

/** Splits `host:port` and removes the brackets of an IPv6 address. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(colon + 1)) };
}
