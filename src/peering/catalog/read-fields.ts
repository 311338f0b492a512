/** Validates the fields of services and checks in request bodies ([SVC-24]). */
import { ServiceError } from '../../http/errors.ts';
import { DNS_NAME_CHARACTERS_MAX } from '../limits.ts';
import { checkMeta } from '../record/meta.ts';
import {
  ID_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
  NOTES_CHARACTERS_MAX,
  OUTPUT_CHARACTERS_MAX,
  TAG_CHARACTERS_MAX,
  TAGGED_ADDRESSES_MAX,
  TAGS_MAX,
} from './limits.ts';
import { CHECK_STATUSES, type CheckStatus } from './tables/check.ts';
import type { InstanceService, ServiceAddress } from './tables/instance.ts';

/** Forbidden because names occur in paths, grant patterns and keys. */
const FORBIDDEN_IN_NAME = /[\p{Cc}\s*/]/u;
const CONTROL_CHARACTER = /\p{Cc}/u;
const PORT_MAX = 65_535;
const WEIGHT_MAX = 65_535;
/** Addresses to listen on, which no client can connect to. */
const WILDCARD_ADDRESSES: ReadonlySet<string> = new Set(['0.0.0.0', '::', '[::]']);

export const badRequest = (message: string): ServiceError => new ServiceError('bad-request', message);

/** Returns the name of a node or service if it is valid. @throws ServiceError `bad-request` */
export function readName(what: string, name: string): string {
  if (name.length <= NAME_CHARACTERS_MAX && name !== '' && !FORBIDDEN_IN_NAME.test(name) && name.isWellFormed())
    return name;
  const wanted = `1 to ${NAME_CHARACTERS_MAX} characters without spaces, '*' and '/'`;
  throw badRequest(`${JSON.stringify(name.slice(0, NAME_CHARACTERS_MAX))} is not a valid ${what} name: want ${wanted}`);
}

/** Returns the ID of a service or check if it is valid. @throws ServiceError `bad-request` */
export function readId(what: string, id: string): string {
  return readText(`${what} ID`, id, ID_CHARACTERS_MAX);
}

/** Returns `text` if it is a single line within the limit. @throws ServiceError `bad-request` */
export function readText(what: string, text: string, charactersMax: number): string {
  if (text.length <= charactersMax && !CONTROL_CHARACTER.test(text) && text.isWellFormed()) return text;
  const wanted = `at most ${charactersMax} characters, none of them a control character`;
  throw badRequest(`${JSON.stringify(text.slice(0, NAME_CHARACTERS_MAX))} is not a valid ${what}: want ${wanted}`);
}

/** Returns the address of a node or service if it is valid. It may be empty. @throws ServiceError `bad-request` */
export function readAddress(what: string, address: string): string {
  readText(what, address, DNS_NAME_CHARACTERS_MAX);
  if (WILDCARD_ADDRESSES.has(address)) {
    throw badRequest(`Invalid ${what} "${address}": want an address that clients can connect to`);
  }
  return address;
}

/** @throws ServiceError `bad-request` */
function readPort(what: string, port = 0): number {
  if (port >= 0 && port <= PORT_MAX) return port;
  throw badRequest(`Invalid ${what} ${port}: want 0 to ${PORT_MAX}`);
}

/** Sorts the keys of a map, so that equal maps have equal JSON. */
export function sortKeys<V>(map: Readonly<Record<string, V>> = {}): Readonly<Record<string, V>> {
  const keys = Object.keys(map);
  if (keys.length < 2) return map;
  return Object.fromEntries(keys.sort().map((key) => [key, map[key] as V]));
}

/** Returns addresses by tag, sorted by tag. @throws ServiceError `bad-request` */
export function readTaggedAddresses<V>(map: Readonly<Record<string, V>> = {}): Readonly<Record<string, V>> {
  const tags = Object.keys(map);
  if (tags.length > TAGGED_ADDRESSES_MAX) {
    throw badRequest(`${tags.length} tagged addresses: want at most ${TAGGED_ADDRESSES_MAX}`);
  }
  for (const tag of tags) readText('tag of an address', tag, TAG_CHARACTERS_MAX);
  return sortKeys(map);
}

/** The service fields that the catalog and the local agent have in common. */
export interface ServiceFields {
  readonly ID?: string;
  readonly Kind?: string;
  readonly Tags?: readonly string[];
  readonly Address?: string;
  readonly Port?: number;
  readonly SocketPath?: string;
  readonly Meta?: Readonly<Record<string, string>>;
  readonly Weights?: { readonly Passing?: number; readonly Warning?: number };
  readonly TaggedAddresses?: Readonly<Record<string, { readonly Address?: string; readonly Port?: number }>>;
}

/** The order of fields is fixed, so that equal services have equal JSON. @throws ServiceError `bad-request` */
export function readService(given: ServiceFields, name: string): InstanceService {
  readName('service', name);
  checkMeta(given.Meta);
  return {
    id: readId('service', given.ID || name),
    name,
    kind: readText('kind', given.Kind ?? '', NAME_CHARACTERS_MAX),
    tags: readTags(given.Tags ?? []),
    address: readAddress('service address', given.Address ?? ''),
    port: readPort('service port', given.Port),
    socketPath: readText('socket path', given.SocketPath ?? '', ID_CHARACTERS_MAX),
    meta: sortKeys(given.Meta),
    weights: readWeights(given.Weights ?? {}),
    taggedAddresses: readServiceAddresses(given.TaggedAddresses),
  };
}

function readTags(tags: readonly string[]): readonly string[] {
  if (tags.length > TAGS_MAX) throw badRequest(`${tags.length} tags: want at most ${TAGS_MAX}`);
  for (const tag of tags) readText('tag', tag, TAG_CHARACTERS_MAX);
  return tags;
}

/** Clients without weights send zeros, which count as 1 and 1 ([SVC-25]). */
function readWeights({ Passing = 0, Warning = 0 }: NonNullable<ServiceFields['Weights']>): InstanceService['weights'] {
  if (Passing === 0 && Warning === 0) return { passing: 1, warning: 1 };
  const isWeight = (weight: number): boolean => weight >= 0 && weight <= WEIGHT_MAX;
  if (!isWeight(Passing) || !isWeight(Warning) || Passing === 0) {
    throw badRequest(
      `Invalid weights ${Passing} and ${Warning}: want 1 to ${WEIGHT_MAX} passing, 0 to ${WEIGHT_MAX} warning`,
    );
  }
  return { passing: Passing, warning: Warning };
}

function readServiceAddresses(given: ServiceFields['TaggedAddresses']): Readonly<Record<string, ServiceAddress>> {
  const entries = Object.entries(readTaggedAddresses(given)).map(
    ([tag, { Address = '', Port }]): [string, ServiceAddress] => [
      tag,
      { address: readAddress('tagged address', Address), port: readPort('tagged port', Port) },
    ],
  );
  return Object.fromEntries(entries);
}

/** @throws ServiceError `bad-request` */
export function readStatus(status: string): CheckStatus {
  const known = CHECK_STATUSES.find((one) => one === status);
  if (known !== undefined) return known;
  throw badRequest(`Invalid check status ${JSON.stringify(status)}: want ${CHECK_STATUSES.join(' or ')}`);
}

/** Truncates the output of a check to its limit without splitting a surrogate pair. */
export const readOutput = (output: string): string => output.slice(0, OUTPUT_CHARACTERS_MAX).toWellFormed();

/** @throws ServiceError `bad-request` */
export function readNotes(notes: string): string {
  if (notes.length <= NOTES_CHARACTERS_MAX) return notes.toWellFormed();
  throw badRequest(`the notes on a check have ${notes.length} characters, want at most ${NOTES_CHARACTERS_MAX}`);
}
