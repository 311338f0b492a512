/** What a name in the DNS asks for; pure. The forms are those of Consul. */
import { addressOfLabel } from './host-name.ts';

/** What is looked for; `peer` undefined: in this cluster. */
export type Sought =
  /** The domain itself. */
  | { readonly kind: 'apex' }
  /** Other names stand below it; it has no records of its own. */
  | { readonly kind: 'between' }
  | { readonly kind: 'service'; readonly peer: string | undefined; readonly service: string; readonly tag?: string }
  | { readonly kind: 'node'; readonly peer: string | undefined; readonly node: string }
  /** A name for an address: the target of services that are not at the address of their node. */
  | { readonly kind: 'address'; readonly address: string }
  /** There cannot be such a name. */
  | { readonly kind: 'nothing' };

const NOTHING: Sought = { kind: 'nothing' };
const BETWEEN: Sought = { kind: 'between' };

/**
 * Reads a name without regard to case.
 * @param domain in lower case
 * @returns undefined: the name is not in the domain
 */
export function readName(name: string, domain: string): Sought | undefined {
  const lower = name.toLowerCase();
  if (lower === domain) return { kind: 'apex' };
  if (!lower.endsWith(`.${domain}`)) return undefined;
  const labels = lower.slice(0, -domain.length - 1).split('.');
  if (labels.at(-1) !== 'peer') return readPlace(labels, undefined);
  const peer = labels.at(-2);
  return peer === undefined || labels.length === 2 ? BETWEEN : readPlace(labels.slice(0, -2), peer);
}

function readPlace(labels: readonly string[], peer: string | undefined): Sought {
  const before = labels.slice(0, -1);
  switch (labels.at(-1)) {
    case 'service':
      return readService(before, peer);
    case 'node':
      // Names of nodes may be host names, with dots.
      return before.length === 0 ? BETWEEN : { kind: 'node', peer, node: before.join('.') };
    case 'addr':
      return peer === undefined ? readAddress(before) : NOTHING;
    default:
      return NOTHING;
  }
}

function readService(labels: readonly string[], peer: string | undefined): Sought {
  const service = labels.at(-1);
  if (service === undefined) return BETWEEN;
  const [first, second] = labels;
  if (!service.startsWith('_')) {
    const tag = labels.slice(0, -1).join('.');
    return { kind: 'service', peer, service, ...(tag !== '' && { tag }) };
  }
  // `_tcp.service` is on the way to `_web._tcp.service`.
  if (labels.length === 1) return BETWEEN;
  if (labels.length > 2 || !first?.startsWith('_') || second === undefined) return NOTHING;
  const tag = second.slice(1);
  return { kind: 'service', peer, service: first.slice(1), ...(tag !== 'tcp' && { tag }) };
}

function readAddress(labels: readonly string[]): Sought {
  const [label] = labels;
  if (label === undefined) return BETWEEN;
  const address = labels.length === 1 ? addressOfLabel(label) : undefined;
  return address === undefined ? NOTHING : { kind: 'address', address };
}
