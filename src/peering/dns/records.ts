/** The records of what was found; pure. Which are given, and in which form, is as Consul has it. */
import type { Answer, SoaAnswer } from 'dns-packet';
import type { FoundInstance } from '../catalog/query/resolved-instances.ts';
import { type Host, isHostName, labelOfAddress, readHost } from './host-name.ts';
import { inRandomOrder } from './random-order.ts';
import type { Zone } from './zone.ts';

/** A record, with the one that saves who gets it the next question. */
export interface GivenRecord {
  readonly record: Answer;
  readonly additional?: Answer;
}

/** The record of a host under a name. */
const hostRecord = (name: string, ttl: number, host: Host): Answer =>
  host.kind === 'CNAME'
    ? { name, ttl, type: 'CNAME', data: host.name }
    : { name, ttl, type: host.kind, data: host.address };

/**
 * The addresses of a type, each once. Where there are none of any type, the name of one host: the DNS has no way to say
 * several, or one beside addresses.
 */
export function* hostRecords(zone: Zone, name: string, type: string, found: readonly Host[]): Generator<GivenRecord> {
  const { ttlSeconds, random } = zone;
  const addresses = found.filter((host) => host.kind !== 'CNAME');
  if (addresses.length === 0) {
    for (const host of inRandomOrder(found, random)) {
      yield { record: hostRecord(name, ttlSeconds, host) };
      return;
    }
  }
  const given = new Set<string>();
  for (const host of inRandomOrder(addresses, random)) {
    if (host.kind !== type || given.has(host.address)) continue;
    given.add(host.address);
    yield { record: hostRecord(name, ttlSeconds, host) };
  }
}

/** Kept for as long as the instance is the same: every question for a service looks at all of its instances. */
const hosts = new WeakMap<FoundInstance, { readonly host: Host | undefined }>();

/** Where an instance answers: its own address, else that of its node. */
export function hostOfInstance(found: FoundInstance): Host | undefined {
  let kept = hosts.get(found);
  if (kept === undefined) {
    const { node, service } = found.instance;
    kept = { host: readHost(service.address === '' ? node.address : service.address) };
    hosts.set(found, kept);
  }
  return kept.host;
}

/** Place and port of each instance, with the address of the place; each once. */
export function* serviceRecords(zone: Zone, name: string, instances: readonly FoundInstance[]): Generator<GivenRecord> {
  const { domain, ttlSeconds: ttl, random } = zone;
  const given = new Set<string>();
  for (const found of inRandomOrder(instances, random)) {
    const host = hostOfInstance(found);
    const { port, weights } = found.instance.service;
    // A peer may know ports that there are not.
    if (host === undefined || port < 0 || port > UINT16_MAX) continue;
    const target = targetName(domain, found, host);
    const place = `${port} ${target.toLowerCase()}`;
    if (given.has(place)) continue;
    given.add(place);
    const weight = Math.min(Math.max(found.status === 'warning' ? weights.warning : weights.passing, 0), UINT16_MAX);
    const record: Answer = { name, ttl, type: 'SRV', data: { priority: 1, weight, port, target } };
    yield host.kind === 'CNAME' ? { record } : { record, additional: hostRecord(target, ttl, host) };
  }
}

const UINT16_MAX = 65_535;

/** A host's own name; else the name of the node where it is at the node's address; else a name made of the address. */
function targetName(domain: string, { instance: { node, service }, peer }: FoundInstance, host: Host): string {
  if (host.kind === 'CNAME') return host.name;
  const place = peer === undefined ? '' : `${peer}.peer.`;
  const nodeName = `${node.name}.node.${place}${domain}`;
  const isAtNode = service.address === '' || service.address === node.address;
  return isAtNode && isHostName(nodeName) ? nodeName : `${labelOfAddress(host.address)}.addr.${domain}`;
}

/** How secondary servers, of which there are none, would follow; the times are those that RIPE-203 has for small zones. */
const SOA_TIMES = { refresh: 86_400, retry: 7_200, expire: 3_600_000 } as const;

/** What goes with every "there is no such thing", and says how long that may be kept. @param index of the state */
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

/** What a question for everything gets (RFC 8482): all there is would be the most that one can make us send. */
export const refusalOfAny = (name: string, ttl: number): Answer => ({
  name,
  ttl,
  type: 'HINFO',
  data: { cpu: 'RFC8482', os: '' },
});
