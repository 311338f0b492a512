/** The answer to a question, from one picture of the state. */
import type { Question } from 'dns-packet';
import { readName } from './name.ts';
import { type Rcode, rcodes } from './rcodes.ts';
import { type GivenRecord, hostOfInstance, hostRecords, refusalOfAny, serviceRecords, soaRecord } from './records.ts';
import { type Found, find } from './resolve.ts';
import type { Zone } from './zone.ts';

export interface Reply {
  readonly rcode: Rcode;
  /** In the order in which they are given, as far as they fit; made when they are asked for. */
  readonly answers: Iterable<GivenRecord>;
  /** There is nothing to answer with: the SOA says so. */
  readonly authority?: GivenRecord['record'];
}

const refused: Reply = { rcode: rcodes.REFUSED, answers: [] };

/** Zones are not handed out whole. */
const TRANSFERS: readonly string[] = ['AXFR', 'IXFR'];

/** Answers. @throws ServiceError `permission-denied` for a token that is unknown or has expired */
export function answerQuestion(zone: Zone, { name, type, class: network }: Question): Reply {
  const sought = readName(name, zone.domain);
  if (sought === undefined || network !== 'IN' || TRANSFERS.includes(type)) return refused;
  const { snapshot } = zone.credentials.state;
  const found = find(zone, snapshot, sought);
  const authority = soaRecord(zone, snapshot.index);
  if (found.kind === 'nothing') return { rcode: rcodes.NXDOMAIN, answers: [], authority };
  const answers = recordsOf(zone, name, type, found, authority);
  const first = answers.next();
  if (first.done === true) return { rcode: rcodes.NOERROR, answers: [], authority };
  return { rcode: rcodes.NOERROR, answers: withFirst(first.value, answers) };
}

function* withFirst<T>(first: T, rest: Iterable<T>): Generator<T> {
  yield first;
  yield* rest;
}

function* recordsOf(
  zone: Zone,
  name: string,
  type: string,
  found: Found,
  soa: GivenRecord['record'],
): Generator<GivenRecord> {
  if (type === 'ANY') {
    yield { record: refusalOfAny(name, zone.ttlSeconds) };
  } else if (found.kind === 'apex') {
    if (type === 'SOA') yield { record: { ...soa, name } };
  } else if (found.kind === 'instances' && type === 'SRV') {
    yield* serviceRecords(zone, name, found.instances);
  } else if (HOST_TYPES.includes(type)) {
    yield* hostRecords(zone, name, type, hostsOf(found));
  }
}

const HOST_TYPES: readonly string[] = ['A', 'AAAA', 'CNAME'];

function hostsOf(found: Found) {
  if (found.kind === 'host') return found.host === undefined ? [] : [found.host];
  if (found.kind !== 'instances') return [];
  return found.instances.map(hostOfInstance).filter((host) => host !== undefined);
}
