/** Answers a DNS question from one snapshot of the state. */
import type { Question } from 'dns-packet';
import type { Steps } from '../../state/clock/slices.ts';
import { parseName } from './name.ts';
import { type Rcode, rcodes } from './rcodes.ts';
import {
  hostOfInstance,
  hostRecords,
  minimalAnyRecord,
  type ReplyRecord,
  serviceRecords,
  soaRecord,
} from './records.ts';
import { type Resolution, resolveName } from './resolve.ts';
import type { Zone } from './zone.ts';

export interface Reply {
  readonly rcode: Rcode;
  /** The answers in the order of the response. Computed lazily, because a response may have space for only some. */
  readonly answers: Iterable<ReplyRecord>;
  /** The SOA record of a negative answer. */
  readonly authority?: ReplyRecord['record'];
}

const refused: Reply = { rcode: rcodes.REFUSED, answers: [] };

/** Zone transfers, which are refused. */
const TRANSFERS: readonly string[] = ['AXFR', 'IXFR'];

/** Answers a question. @throws ServiceError `permission-denied` when the token is unknown or has expired */
export function* answerQuestion(zone: Zone, { name, type, class: network }: Question): Steps<Reply> {
  const parsed = parseName(name, zone.domain);
  if (parsed === undefined || network !== 'IN' || TRANSFERS.includes(type)) return refused;
  const { snapshot } = zone.credentials.state;
  const found = yield* resolveName(zone, snapshot, parsed);
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
  found: Resolution,
  soa: ReplyRecord['record'],
): Generator<ReplyRecord> {
  if (type === 'ANY') {
    yield { record: minimalAnyRecord(name, zone.ttlSeconds) };
  } else if (found.kind === 'apex') {
    if (type === 'SOA') yield { record: { ...soa, name } };
  } else if (found.kind === 'instances' && type === 'SRV') {
    yield* serviceRecords(zone, name, found.instances);
  } else if (HOST_TYPES.includes(type)) {
    yield* hostRecords(zone, name, type, hostsOf(found));
  }
}

const HOST_TYPES: readonly string[] = ['A', 'AAAA', 'CNAME'];

function hostsOf(found: Resolution) {
  if (found.kind === 'host') return found.host === undefined ? [] : [found.host];
  if (found.kind !== 'instances') return [];
  return found.instances.map(hostOfInstance).filter((host) => host !== undefined);
}
