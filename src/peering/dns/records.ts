/** The records of a resolved name. Pure. Their selection and form are those of Consul. */
import type { Answer, SoaAnswer } from 'dns-packet';
import { derivedFrom } from '../../state/memory/derived-cache.ts';
import type { ResolvedInstance } from '../catalog/query/resolved-instances.ts';
import { type Host, isHostName, labelOfAddress, readHost } from './host-name.ts';
import type { Zone } from './zone.ts';

/** A record, with an additional one that saves the client its next question. */
export interface ReplyRecord {
  readonly record: Answer;
  readonly additional?: Answer;
}

const hostRecord = (name: string, ttl: number, host: Host): Answer =>
  host.kind === 'CNAME'
    ? { name, ttl, type: 'CNAME', data: host.name }
    : { name, ttl, type: host.kind, data: host.address };

/**
 * Yields the distinct addresses of a type. If there is no address of any type, yields one host name, because a name
 * cannot have several CNAME records, or one beside addresses.
 */
export function* hostRecords(zone: Zone, name: string, type: string, found: readonly Host[]): Generator<ReplyRecord> {
  const { ttlSeconds, random } = zone;
  const addresses = found.filter((host) => host.kind !== 'CNAME');
  if (addresses.length === 0) {
    for (const host of inRandomOrder(found, random)) {
      yield { record: hostRecord(name, ttlSeconds, host) };
      return;
    }
  }
  const seen = new Set<string>();
  for (const host of inRandomOrder(addresses, random)) {
    if (host.kind !== type || seen.has(host.address)) continue;
    seen.add(host.address);
    yield { record: hostRecord(name, ttlSeconds, host) };
  }
}

/**
 * Returns the host of an instance: its own address, or that of its node. Parses it once, because every question for a
 * service reads all its instances.
 */
export const hostOfInstance = derivedFrom(({ instance: { node, service } }: ResolvedInstance) =>
  readHost(service.address === '' ? node.address : service.address),
);

/** Yields the distinct targets and ports of the instances, each with the address of its target. */
export function* serviceRecords(
  zone: Zone,
  name: string,
  instances: readonly ResolvedInstance[],
): Generator<ReplyRecord> {
  const { domain, ttlSeconds: ttl, random } = zone;
  const seen = new Set<string>();
  for (const found of inRandomOrder(instances, random)) {
    const host = hostOfInstance(found);
    const { port, weights } = found.instance.service;
    // Ports from a peer can be invalid.
    if (host === undefined || port < 0 || port > UINT16_MAX) continue;
    const target = targetName(domain, found, host);
    const key = `${port} ${target.toLowerCase()}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const weight = Math.min(Math.max(found.status === 'warning' ? weights.warning : weights.passing, 0), UINT16_MAX);
    const record: Answer = { name, ttl, type: 'SRV', data: { priority: 1, weight, port, target } };
    yield host.kind === 'CNAME' ? { record } : { record, additional: hostRecord(target, ttl, host) };
  }
}

const UINT16_MAX = 65_535;

/** Returns the host's own name, or the node's if it has the node's address, or a name made of its address. */
function targetName(domain: string, { instance: { node, service }, peer }: ResolvedInstance, host: Host): string {
  if (host.kind === 'CNAME') return host.name;
  const scope = peer === undefined ? '' : `${peer}.peer.`;
  const nodeName = `${node.name}.node.${scope}${domain}`;
  const isAtNode = service.address === '' || service.address === node.address;
  return isAtNode && isHostName(nodeName) ? nodeName : `${labelOfAddress(host.address)}.addr.${domain}`;
}

/** Timers for secondary servers, in seconds, as RIPE-203 recommends. There are no secondary servers. */
const SOA_TIMES = { refresh: 86_400, retry: 7_200, expire: 3_600_000 } as const;

/** Returns the SOA record, which limits how long clients cache negative answers. @param index the index of the state */
export const soaRecord = ({ domain, ttlSeconds }: Zone, index: number): SoaAnswer => ({
  name: domain,
  type: 'SOA',
  ttl: ttlSeconds,
  data: {
    mname: `ns.${domain}`,
    rname: `hostmaster.${domain}`,
    serial: index % 2 ** 32,
    ...SOA_TIMES,
    minimum: ttlSeconds,
  },
});

/** Returns the minimal answer to `ANY` (RFC 8482). A full one would amplify forged questions. */
export const minimalAnyRecord = (name: string, ttl: number): Answer => ({
  name,
  ttl,
  type: 'HINFO',
  data: { cpu: 'RFC8482', os: '' },
});

/** Yields in random order, lazily because often only a few are needed. @param random returns numbers from 0 up to 1 */
export function* inRandomOrder<T>(items: readonly T[], random: () => number): Generator<T> {
  const remaining = [...items];
  while (remaining.length > 0) {
    const at = Math.floor(random() * remaining.length);
    const last = remaining.pop() as T; // not empty
    if (at === remaining.length) {
      yield last;
    } else {
      yield remaining[at] as T; // below the length
      remaining[at] = last;
    }
  }
}
