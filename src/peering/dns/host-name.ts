/** What stands as an address in the catalog, as the DNS can say it; pure. */
import { isIPv4, isIPv6 } from 'node:net';

export type Host =
  | { readonly kind: 'A' | 'AAAA'; readonly address: string }
  | { readonly kind: 'CNAME'; readonly name: string };

/** An address, or the name of a host; undefined: neither, so the DNS has no way to say it. */
export function readHost(text: string): Host | undefined {
  if (isIPv4(text)) return { kind: 'A', address: text };
  if (isIPv6(text)) {
    // An address with a zone means something on one machine only.
    return text.includes('%') ? undefined : { kind: 'AAAA', address: shortestForm(text) };
  }
  const name = text.replace(/\.$/, '');
  return isHostName(name) ? { kind: 'CNAME', name } : undefined;
}

const NAME = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/i;
/** Characters of a name: with the lengths of its labels it has 255 bytes (RFC 1035). */
const NAME_CHARACTERS_MAX = 253;

/** Whether it is a name that can be asked for. */
export const isHostName = (name: string): boolean => name.length <= NAME_CHARACTERS_MAX && NAME.test(name);

/** Without an IPv4 address at its end, and the same however it was written. */
const shortestForm = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

/** The label that stands for an address: its bytes in hexadecimal. */
export function labelOfAddress(address: string): string {
  if (isIPv4(address))
    return address
      .split('.')
      .map((part) => hexadecimal(Number(part), 2))
      .join('');
  const [head = '', tail = ''] = shortestForm(address).split('::');
  const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [before, after] = [groupsOf(head), groupsOf(tail)];
  const zeros = new Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join('');
}

/** The address that a label stands for; undefined: none. */
export function addressOfLabel(label: string): string | undefined {
  if (/^[0-9a-f]{8}$/.test(label))
    return label
      .match(/../g)
      ?.map((byte) => Number.parseInt(byte, 16))
      .join('.');
  if (/^[0-9a-f]{32}$/.test(label)) return shortestForm(label.match(/.{4}/g)?.join(':') ?? '');
  return undefined;
}

const hexadecimal = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
