/** Reads a resource from a request body. Reports all errors in the shape of the body together ([TEAM-38]). */
import { parseJsonInSlices } from '../../http/json/sliced-json.ts';
import { JsonError, parseStrictJson } from '../../http/json/strict-json.ts';
import type { Steps } from '../../state/clock/slices.ts';
import { ERRORS_MAX } from '../limits.ts';
import { type ErrorObject, JsonApiError, throwErrors } from './errors.ts';

export interface RelationshipSpec {
  readonly name: string;
  /** JSON:API type of the related resource. */
  readonly type: string;
  /** Name in error messages. Present when a creation requires the relationship. */
  readonly label?: string;
}

export interface ResourceSpec {
  readonly type: string;
  /** Another type that some clients send. */
  readonly typeAlias?: string;
  /**
   * ID in the path of an update, or null when the path has none. In an update, the body may omit `type` and `id`, but
   * they must match when present ([TEAM-39]). Absent for a creation.
   */
  readonly updates?: string | null;
  readonly relationships?: readonly RelationshipSpec[];
  readonly toManyRelationships?: readonly RelationshipSpec[];
}

/** The attributes of a request body, before validation. */
export type RawAttributes = Readonly<Record<string, unknown>>;

/** Returns the value of an attribute, or `undefined` when it is missing or null. */
export const attributeValue = (attributes: RawAttributes, name: string): unknown =>
  Object.hasOwn(attributes, name) ? (attributes[name] ?? undefined) : undefined;

/** A resource in a body. Its attributes are not validated yet. */
export interface ParsedResource {
  readonly attributes: RawAttributes;
  /** IDs by relationship name, without missing relationships. */
  readonly relationships: ReadonlyMap<string, string>;
  readonly toManyRelationships: ReadonlyMap<string, readonly string[]>;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Reads the resource in a body. @throws JsonApiError `invalid-body`, `invalid-attribute` for a missing relationship */
export const readResource = (body: Uint8Array, spec: ResourceSpec): ParsedResource =>
  parseResource(readMember(body, 'data'), spec);

/** Reads the resource in the `data` of a document. @throws JsonApiError in the same cases as `readResource` */
export function parseResource(data: unknown, spec: ResourceSpec): ParsedResource {
  if (!isObject(data)) throw new JsonApiError([bodyError('/data', 'want an object')]);
  const errors = identityErrors(data, spec);
  const attributes = readObject(data, 'attributes', '/data', errors);
  const given = readObject(data, 'relationships', '/data', errors);
  const linkageOf = (name: string): unknown => readObject(given, name, '/data/relationships', errors)['data'];
  const relationships = new Map<string, string>();
  for (const { name, type, label } of spec.relationships ?? []) {
    const pointer = `/data/relationships/${name}`;
    const linkage = linkageOf(name);
    if (linkage === undefined || linkage === null) {
      if (label !== undefined && spec.updates === undefined) {
        errors.push({ code: 'invalid-attribute', detail: `${label} must exist`, pointer });
      }
      continue;
    }
    const id = readIdentifier(linkage, type, `${pointer}/data`, errors);
    if (id !== undefined) relationships.set(name, id);
  }
  const toManyRelationships = new Map<string, readonly string[]>();
  for (const { name, type } of spec.toManyRelationships ?? []) {
    const linkage = linkageOf(name);
    if (linkage === undefined || linkage === null) continue;
    toManyRelationships.set(name, readIdentifierList(linkage, type, `/data/relationships/${name}/data`, errors));
  }
  throwErrors(errors);
  return { attributes, relationships, toManyRelationships };
}

/** Reads the IDs in a body: `{"data":[{"type","id"}, …]}`. @throws JsonApiError `invalid-body` */
export const readIdentifiers = (body: Uint8Array, type: string): readonly string[] =>
  parseIdentifiers(readMember(body, 'data'), type);

/** Reads the IDs in the `data` of a document. @throws JsonApiError `invalid-body` */
export function parseIdentifiers(data: unknown, type: string): readonly string[] {
  const errors: ErrorObject[] = [];
  const ids = readIdentifierList(data, type, '/data', errors);
  throwErrors(errors);
  return ids;
}

/** Reads a top-level member of a body, such as `data`. @throws JsonApiError `invalid-body` */
const readMember = (body: Uint8Array, name: string): unknown => memberOf(parse(body), name);

/** Reads a member of a large body as `readMember` does. @throws JsonApiError `invalid-body` */
export function* readMemberInSlices(body: Buffer, name: string): Steps<unknown> {
  try {
    return memberOf(yield* parseJsonInSlices(body), name);
  } catch (error) {
    throw toBodyError(error);
  }
}

/** @throws JsonApiError `invalid-body` */
function memberOf(document: unknown, name: string): unknown {
  if (!isObject(document)) throw new JsonApiError([bodyError('', 'want an object')]);
  if (document[name] === undefined) throw new JsonApiError([bodyError(`/${name}`, `${name} is missing`)]);
  return document[name];
}

function parse(body: Uint8Array): unknown {
  try {
    return parseStrictJson(body);
  } catch (error) {
    throw toBodyError(error);
  }
}

function toBodyError(error: unknown): unknown {
  if (!(error instanceof JsonError)) return error;
  const { message: detail, hasLoneSurrogate } = error;
  return new JsonApiError([hasLoneSurrogate ? { code: 'bad-request', detail } : bodyError('', detail)]);
}

function identityErrors(data: JsonObject, { type, typeAlias = type, updates }: ResourceSpec): ErrorObject[] {
  const errors: ErrorObject[] = [];
  const given = data['type'];
  if (given !== type && given !== typeAlias && (updates === undefined || given !== undefined)) {
    errors.push(bodyError('/data/type', `type must be ${type}`));
  }
  const id = data['id'];
  if (id === undefined) return errors;
  if (typeof id !== 'string') errors.push(bodyError('/data/id', 'id must be a string'));
  else if (typeof updates === 'string' && id !== updates) {
    errors.push(bodyError('/data/id', 'id is not that of the path'));
  }
  return errors;
}

/** Reads a member that is an object. Returns an empty object when it is missing or null. */
function readObject(parent: JsonObject, name: string, pointer: string, errors: ErrorObject[]): JsonObject {
  const value = Object.hasOwn(parent, name) ? parent[name] : undefined;
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  errors.push(bodyError(`${pointer}/${name}`, `${name} must be an object`));
  return {};
}

/** Reads a list of identifiers and removes duplicates. */
function readIdentifierList(list: unknown, type: string, pointer: string, errors: ErrorObject[]): readonly string[] {
  if (!Array.isArray(list)) {
    errors.push(bodyError(pointer, 'want an array'));
    return [];
  }
  const ids = new Set<string>();
  for (const [i, one] of list.entries()) {
    // The answer contains no more errors, and a list can have millions of invalid elements.
    if (errors.length >= ERRORS_MAX) break;
    const id = readIdentifier(one, type, `${pointer}/${i}`, errors);
    if (id !== undefined) ids.add(id);
  }
  return [...ids];
}

function readIdentifier(value: unknown, type: string, pointer: string, errors: ErrorObject[]): string | undefined {
  if (!isObject(value)) {
    errors.push(bodyError(pointer, 'want an object with type and id'));
    return undefined;
  }
  if (value['type'] !== type) errors.push(bodyError(`${pointer}/type`, `type must be ${type}`));
  const id = value['id'];
  if (typeof id === 'string') return id;
  errors.push(bodyError(`${pointer}/id`, 'id must be a string'));
  return undefined;
}

export const bodyError = (pointer: string, detail: string): ErrorObject => ({ code: 'invalid-body', detail, pointer });

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
