/** Fields of services and checks, checked once at the edge; inside they are taken as they are. */
import { ServiceError } from '../../http/errors.ts';
import { checkMeta } from '../record/meta.ts';
import {
  ADDRESS_CHARACTERS_MAX,
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

/** Not in names: they would end up in paths, in patterns of grants, and in keys. */
const NO_NAME = /[\p{Cc}\s*/]/u;
const CONTROL = /\p{Cc}/u;
const PORT_MAX = 65_535;
const WEIGHT_MAX = 65_535;
/** Addresses to listen on, where nobody can be reached. */
const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::', '[::]']);

/** What a request is refused with. */
export const refused = (message: string): ServiceError => new ServiceError('bad-request', message);

/** The name of a node or a service. @throws ServiceError `bad-request` */
export function readName(what: string, name: string): string {
  if (name.length <= NAME_CHARACTERS_MAX && name !== '' && !NO_NAME.test(name) && name.isWellFormed()) return name;
  const wanted = `1 to ${NAME_CHARACTERS_MAX} characters without spaces, '*' and '/'`;
  throw refused(`${JSON.stringify(name.slice(0, NAME_CHARACTERS_MAX))} is not a valid ${what} name: want ${wanted}`);
}

/** The ID of a service or a check. @throws ServiceError `bad-request` */
export function readId(what: string, id: string): string {
  return readText(`${what} ID`, id, ID_CHARACTERS_MAX);
}

/** Text on one line. @throws ServiceError `bad-request` */
export function readText(what: string, text: string, charactersMax: number): string {
  if (text.length <= charactersMax && !CONTROL.test(text) && text.isWellFormed()) return text;
  const wanted = `at most ${charactersMax} characters, none of them a control character`;
  throw refused(`${JSON.stringify(text.slice(0, NAME_CHARACTERS_MAX))} is not a valid ${what}: want ${wanted}`);
}

/** An address of a node or a service; may be empty. @throws ServiceError `bad-request` */
export function readAddress(what: string, address: string): string {
  readText(what, address, ADDRESS_CHARACTERS_MAX);
  if (ANY_ADDRESS.has(address)) throw refused(`Invalid ${what}: nobody can be reached at ${address}`);
  return address;
}

/** @throws ServiceError `bad-request` */
function readPort(what: string, port = 0): number {
  if (port >= 0 && port <= PORT_MAX) return port;
  throw refused(`Invalid ${what} ${port}: want 0 to ${PORT_MAX}`);
}

/** A map with its keys in order, so that equal ones are equal texts. */
export function inKeyOrder<V>(map: Readonly<Record<string, V>> = {}): Readonly<Record<string, V>> {
  const keys = Object.keys(map);
  if (keys.length < 2) return map;
  return Object.fromEntries(keys.sort().map((key) => [key, map[key] as V]));
}

/** Addresses by their tag. @throws ServiceError `bad-request` */
export function readTagged<V>(map: Readonly<Record<string, V>> = {}): Readonly<Record<string, V>> {
  const tags = Object.keys(map);
  if (tags.length > TAGGED_ADDRESSES_MAX) {
    throw refused(`${tags.length} tagged addresses are too many, want at most ${TAGGED_ADDRESSES_MAX}`);
  }
  for (const tag of tags) readText('tag of an address', tag, TAG_CHARACTERS_MAX);
  return inKeyOrder(map);
}

/** What both ways to register a service say of it. */
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

/** A service as it is kept. Fields in one order, so that equal services are equal texts. @throws ServiceError `bad-request` */
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
    meta: inKeyOrder(given.Meta),
    weights: readWeights(given.Weights ?? {}),
    taggedAddresses: readServiceAddresses(given.TaggedAddresses),
  };
}

function readTags(tags: readonly string[]): readonly string[] {
  if (tags.length > TAGS_MAX) throw refused(`${tags.length} tags are too many, want at most ${TAGS_MAX}`);
  for (const tag of tags) readText('tag', tag, TAG_CHARACTERS_MAX);
  return tags;
}

/** Clients that say nothing of weights send zeros. */
function readWeights({ Passing = 0, Warning = 0 }: NonNullable<ServiceFields['Weights']>): InstanceService['weights'] {
  if (Passing === 0 && Warning === 0) return { passing: 1, warning: 1 };
  const isWeight = (weight: number): boolean => weight >= 0 && weight <= WEIGHT_MAX;
  if (!isWeight(Passing) || !isWeight(Warning) || Passing === 0) {
    throw refused(
      `Invalid weights ${Passing} and ${Warning}: want 1 to ${WEIGHT_MAX} passing, 0 to ${WEIGHT_MAX} warning`,
    );
  }
  return { passing: Passing, warning: Warning };
}

function readServiceAddresses(given: ServiceFields['TaggedAddresses']): Readonly<Record<string, ServiceAddress>> {
  const entries = Object.entries(readTagged(given)).map(([tag, { Address = '', Port }]): [string, ServiceAddress] => [
    tag,
    { address: readAddress('tagged address', Address), port: readPort('tagged port', Port) },
  ]);
  return Object.fromEntries(entries);
}

/** @throws ServiceError `bad-request` */
export function readStatus(status: string): CheckStatus {
  const known = CHECK_STATUSES.find((one) => one === status);
  if (known !== undefined) return known;
  throw refused(`Invalid check status ${JSON.stringify(status)}: want ${CHECK_STATUSES.join(' or ')}`);
}

/** What a check says, cut where it is too long, without half a character at its end. */
export const readOutput = (output: string): string => output.slice(0, OUTPUT_CHARACTERS_MAX).toWellFormed();

/** @throws ServiceError `bad-request` */
export function readNotes(notes: string): string {
  if (notes.length <= NOTES_CHARACTERS_MAX) return notes.toWellFormed();
  throw refused(`the notes on a check have ${notes.length} characters, want at most ${NOTES_CHARACTERS_MAX}`);
}
