/** Parsing of DNS names. Pure. The forms are those of Consul ([SVC-98]). */
import { addressOfLabel } from './host-name.ts';

/** A parsed name. `peer` is `undefined` for a name in this cluster. */
export type ParsedName =
  | { readonly kind: 'apex' }
  /** An empty non-terminal (RFC 8499): other names exist below it, but it has no records. */
  | { readonly kind: 'empty-non-terminal' }
  | { readonly kind: 'service'; readonly peer: string | undefined; readonly service: string; readonly tag?: string }
  | { readonly kind: 'node'; readonly peer: string | undefined; readonly node: string }
  /** The name of an address: the SRV target of a service that has another address than its node. */
  | { readonly kind: 'address'; readonly address: string }
  /** A name that cannot exist. */
  | { readonly kind: 'nothing' };

const NOTHING: ParsedName = { kind: 'nothing' };
const EMPTY_NON_TERMINAL: ParsedName = { kind: 'empty-non-terminal' };

/** Parses a name, ignoring case. Returns `undefined` for a name outside the domain. @param domain in lower case */
export function parseName(name: string, domain: string): ParsedName | undefined {
  const lower = name.toLowerCase();
  if (lower === domain) return { kind: 'apex' };
  if (!lower.endsWith(`.${domain}`)) return undefined;
  const labels = lower.slice(0, -domain.length - 1).split('.');
  if (labels.at(-1) !== 'peer') return parseScope(labels, undefined);
  const peer = labels.at(-2);
  return peer === undefined || labels.length === 2 ? EMPTY_NON_TERMINAL : parseScope(labels.slice(0, -2), peer);
}

function parseScope(labels: readonly string[], peer: string | undefined): ParsedName {
  const before = labels.slice(0, -1);
  switch (labels.at(-1)) {
    case 'service':
      return parseService(before, peer);
    case 'node':
      // A node name may be a host name, with dots.
      return before.length === 0 ? EMPTY_NON_TERMINAL : { kind: 'node', peer, node: before.join('.') };
    case 'addr':
      return peer === undefined ? parseAddress(before) : NOTHING;
    default:
      return NOTHING;
  }
}

function parseService(labels: readonly string[], peer: string | undefined): ParsedName {
  const service = labels.at(-1);
  if (service === undefined) return EMPTY_NON_TERMINAL;
  const [first, second] = labels;
  if (!service.startsWith('_')) {
    const tag = labels.slice(0, -1).join('.');
    return { kind: 'service', peer, service, ...(tag !== '' && { tag }) };
  }
  // `_tcp.service` is the parent of `_web._tcp.service`.
  if (labels.length === 1) return EMPTY_NON_TERMINAL;
  if (labels.length > 2 || !first?.startsWith('_') || second === undefined) return NOTHING;
  const tag = second.slice(1);
  return { kind: 'service', peer, service: first.slice(1), ...(tag !== 'tcp' && { tag }) };
}

function parseAddress(labels: readonly string[]): ParsedName {
  const [label] = labels;
  if (label === undefined) return EMPTY_NON_TERMINAL;
  const address = labels.length === 1 ? addressOfLabel(label) : undefined;
  return address === undefined ? NOTHING : { kind: 'address', address };
}
