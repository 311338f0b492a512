/** Reads a resource from a body: JSON, `data`, types and the shape of relationships. All that is wrong is told at once. */
import { JsonProblem, parseStrictJson } from '../../http/json/strict-json.ts';
import { FAULTS_MAX } from '../limits.ts';
import { type Fault, JsonApiError, throwFaults } from './errors.ts';

/** A relationship that an operation reads. */
export interface WantedRelationship {
  readonly name: string;
  /** The JSON:API type of what it leads to. */
  readonly type: string;
  /** How messages name it; given where it must be there. */
  readonly label?: string;
}

/** What an operation reads of a resource. */
export interface WantedResource {
  readonly type: string;
  /** What some clients call it instead. */
  readonly alsoType?: string;
  /**
   * For an update the id in the path, or null where the path has none: then `type` and `id` may be left out, and must be
   * right when given.
   */
  readonly updates?: string | null;
  readonly relationships?: readonly WantedRelationship[];
  /** Relationships to several, such as a member's teams. */
  readonly manyRelationships?: readonly WantedRelationship[];
}

/** What a body says of a resource; attributes as they came. */
export interface GivenResource {
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Ids by name; those that were not given are not in it. */
  readonly relationships: ReadonlyMap<string, string>;
  readonly manyRelationships: ReadonlyMap<string, readonly string[]>;
}

/** An object of JSON, read by nobody yet. */
export type Json = Readonly<Record<string, unknown>>;

/** The resource of a body. @throws JsonApiError `invalid-body`, `invalid-attribute` for a relationship that is missing */
export const readResource = (body: Uint8Array, wanted: WantedResource): GivenResource =>
  resourceIn(readMember(body, 'data'), wanted);

/** The resource in the `data` of a document. @throws JsonApiError likewise */
export function resourceIn(data: unknown, wanted: WantedResource): GivenResource {
  if (!isObject(data)) throw new JsonApiError([wrong('/data', 'want an object')]);
  return resourceOf(data, wanted, '/data');
}

/** The resource in a JSON object that stands at `pointer`. @throws JsonApiError likewise */
function resourceOf(data: Json, wanted: WantedResource, pointer: string): GivenResource {
  const faults: Fault[] = [...identityFaults(data, wanted, pointer)];
  const attributes = objectAt(data, 'attributes', pointer, faults);
  const given = objectAt(data, 'relationships', pointer, faults);
  const relationships = new Map<string, string>();
  for (const relationship of wanted.relationships ?? []) {
    const at = `${pointer}/relationships/${relationship.name}`;
    const linked = objectAt(given, relationship.name, `${pointer}/relationships`, faults)['data'];
    if (linked === undefined || linked === null) {
      if (relationship.label !== undefined && wanted.updates === undefined) {
        faults.push({ code: 'invalid-attribute', detail: `${relationship.label} must exist`, pointer: at });
      }
      continue;
    }
    const id = identifier(linked, relationship.type, `${at}/data`, faults);
    if (id !== undefined) relationships.set(relationship.name, id);
  }
  const manyRelationships = new Map<string, readonly string[]>();
  for (const { name, type } of wanted.manyRelationships ?? []) {
    const linked = objectAt(given, name, `${pointer}/relationships`, faults)['data'];
    if (linked === undefined || linked === null) continue;
    manyRelationships.set(name, identifiers(linked, type, `${pointer}/relationships/${name}/data`, faults));
  }
  throwFaults(faults);
  return { attributes, relationships, manyRelationships };
}

/** The ids that a body names: `{"data":[{"type","id"}, …]}`. @throws JsonApiError `invalid-body` */
export const readIdentifiers = (body: Uint8Array, type: string): readonly string[] =>
  identifiersIn(readMember(body, 'data'), type);

/** The ids that the `data` of a document names. @throws JsonApiError `invalid-body` */
export function identifiersIn(data: unknown, type: string): readonly string[] {
  const faults: Fault[] = [];
  const ids = identifiers(data, type, '/data', faults);
  throwFaults(faults);
  return ids;
}

/** A member of the document that a body is, such as `data`. @throws JsonApiError `invalid-body` */
export function readMember(body: Uint8Array, name: string): unknown {
  const document = parse(body);
  if (!isObject(document)) throw new JsonApiError([wrong('', 'want an object')]);
  if (document[name] === undefined) throw new JsonApiError([wrong(`/${name}`, `${name} is missing`)]);
  return document[name];
}

function parse(body: Uint8Array): unknown {
  try {
    return parseStrictJson(body);
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw new JsonApiError([wrong('', error.message)]);
  }
}

function identityFaults(data: Json, { type, alsoType = type, updates }: WantedResource, pointer: string): Fault[] {
  const faults: Fault[] = [];
  const given = data['type'];
  if (given !== type && given !== alsoType && (updates === undefined || given !== undefined)) {
    faults.push(wrong(`${pointer}/type`, `type must be ${type}`));
  }
  const id = data['id'];
  if (id === undefined) return faults;
  if (typeof id !== 'string') faults.push(wrong(`${pointer}/id`, 'id must be a string'));
  else if (typeof updates === 'string' && id !== updates)
    faults.push(wrong(`${pointer}/id`, 'id is not that of the path'));
  return faults;
}

/** A member that is an object, or an empty one where it is missing or null; anything else is a fault. */
function objectAt(of: Json, name: string, pointer: string, faults: Fault[]): Json {
  const value = Object.hasOwn(of, name) ? of[name] : undefined;
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  faults.push(wrong(`${pointer}/${name}`, `${name} must be an object`));
  return {};
}

/** Ids, each once. */
function identifiers(linked: unknown, type: string, pointer: string, faults: Fault[]): readonly string[] {
  if (!Array.isArray(linked)) {
    faults.push(wrong(pointer, 'want an array'));
    return [];
  }
  const ids = new Set<string>();
  for (const [i, one] of linked.entries()) {
    // Nobody reads on, and a list of millions can be wrong throughout.
    if (faults.length >= FAULTS_MAX) break;
    const id = identifier(one, type, `${pointer}/${i}`, faults);
    if (id !== undefined) ids.add(id);
  }
  return [...ids];
}

function identifier(linked: unknown, type: string, pointer: string, faults: Fault[]): string | undefined {
  if (!isObject(linked)) {
    faults.push(wrong(pointer, 'want an object with type and id'));
    return undefined;
  }
  if (linked['type'] !== type) faults.push(wrong(`${pointer}/type`, `type must be ${type}`));
  const id = linked['id'];
  if (typeof id === 'string') return id;
  faults.push(wrong(`${pointer}/id`, 'id must be a string'));
  return undefined;
}

/** The fault of a document that is not as it must be. */
export const wrong = (pointer: string, detail: string): Fault => ({ code: 'invalid-body', detail, pointer });

/** Whether a value of JSON is an object. */
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
