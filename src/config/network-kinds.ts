/** Kinds of values that name places on a network. */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { type Kind, text } from './kinds.ts';

/** Where something listens or is reached. An IPv6 host stands without brackets. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const DNS_LABEL = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?';
const DNS_NAME = new RegExp(`^(?=.{1,253}$)${DNS_LABEL}(?:\\.${DNS_LABEL})*$`);

/** Whether `host` is an address or a name; digits and dots that are no address are neither. */
const isHost = (host: string): boolean => isIP(host) !== 0 || (DNS_NAME.test(host) && !/(?:^|\.)\d+$/.test(host));

/** `127.0.0.1:8500`, `accord.example:8503`, `[::1]:8500`. Port 0 asks the system for a free one, where that is allowed. */
export function hostPort({ portMin }: { readonly portMin: 0 | 1 }): Kind<HostPort> {
  return {
    wanted: `host:port such as 127.0.0.1:8500 (IPv6 in brackets, port ${portMin} to 65535)`,
    parse(given) {
      const parts = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(given);
      const host = parts?.[1] ?? parts?.[2] ?? '';
      const port = Number(parts?.[3]);
      const hostFits = parts?.[1] === undefined ? isHost(host) : isIPv6(host);
      return hostFits && port >= portMin && port <= 65_535 ? { host, port } : undefined;
    },
    format: formatHostPort,
  };
}

/** The text of an address, IPv6 in brackets. */
export function formatHostPort({ host, port }: HostPort): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether nobody but this machine reaches a listener on `host`. A name other than `localhost` may be anything. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.');
  return host.toLowerCase() === 'localhost' || (isIPv6(host) && new URL(`http://[${host}]`).hostname === '[::1]');
}

/** Whether `host` means every address of the machine, so that nobody can dial it. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || (isIPv6(host) && new URL(`http://[${host}]`).hostname === '[::]');
}

function parseUrl(given: string): URL | undefined {
  const url = URL.parse(given);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url : undefined;
}

/** A URL with nothing but scheme, host and port: `https://console.example`. The value has no slash at its end. */
export const origin: Kind<string> = {
  wanted: 'http:// or https:// with a host and perhaps a port, such as https://console.example:8443',
  parse(given) {
    const url = parseUrl(given);
    return url !== undefined && (given === url.origin || given === `${url.origin}/` || hasDefaultPort(given, url))
      ? url.origin
      : undefined;
  },
  format: (value) => value,
};

/** `https://host:443` is the origin `https://host`. */
function hasDefaultPort(given: string, url: URL): boolean {
  return given.replace(/\/$/, '') === `${url.origin}:${url.protocol === 'https:' ? 443 : 80}`;
}

/** A name in the DNS. */
export const dnsName: Kind<string> = text(DNS_NAME, 'a DNS name such as accord or accord.example');
