/** Kinds of network values: addresses, origins, DNS names. */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { type Kind, text } from './kinds.ts';

/** A network address. An IPv6 host has no brackets. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const DNS_LABEL = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?';
const DNS_NAME = new RegExp(`^(?=.{1,253}$)${DNS_LABEL}(?:\\.${DNS_LABEL})*$`);

/** Whether `host` is an IP address or a DNS name. Rejects digits and dots that are not an IP address. */
const isHost = (host: string): boolean => isIP(host) !== 0 || (DNS_NAME.test(host) && !/(?:^|\.)\d+$/.test(host));

/**
 * Returns the kind of `127.0.0.1:8500`, `accord.example:8503`, `[::1]:8500`. Port 0, if allowed, means any free port.
 */
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

/** Formats an address, with IPv6 in brackets. */
export function formatHostPort({ host, port }: HostPort): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether only this machine can reach a listener on `host`. False for names other than `localhost`. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.');
  return host.toLowerCase() === 'localhost' || (isIPv6(host) && new URL(`http://[${host}]`).hostname === '[::1]');
}

/** Whether `host` is a wildcard address, which cannot be dialed. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || (isIPv6(host) && new URL(`http://[${host}]`).hostname === '[::]');
}

function parseHttpUrl(given: string): URL | undefined {
  const url = URL.parse(given);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url : undefined;
}

/** The kind of web origins, such as `https://console.example`. The value has no trailing slash. */
export const origin: Kind<string> = {
  wanted: 'http:// or https:// with a host and perhaps a port, such as https://console.example:8443',
  parse(given) {
    const url = parseHttpUrl(given);
    return url !== undefined && (given === url.origin || given === `${url.origin}/` || hasDefaultPort(given, url))
      ? url.origin
      : undefined;
  },
  format: (value) => value,
};

/** Whether the text names the default port of its scheme, as in `https://host:443`. */
function hasDefaultPort(given: string, url: URL): boolean {
  return given.replace(/\/$/, '') === `${url.origin}:${url.protocol === 'https:' ? 443 : 80}`;
}

export const dnsName: Kind<string> = text(DNS_NAME, 'a DNS name such as accord or accord.example');

/** The kind of networks in CIDR notation. */
export const network: Kind<string> = {
  wanted: 'a network such as 10.0.0.0/8 or fe80::/10',
  parse(given) {
    const [, address = '', prefix] = /^([^/]+)\/(\d{1,3})$/.exec(given) ?? [];
    const version = isIP(address);
    return version !== 0 && !address.includes('%') && Number(prefix) <= (version === 4 ? 32 : 128) ? given : undefined;
  },
  format: (value) => value,
};
