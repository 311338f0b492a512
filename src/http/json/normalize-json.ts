/**
 * Normalizes a JSON value to a schema: corrects the case of keys, drops nulls of absent fields, and rejects unknown
 * fields and wrong types and too many items. The schema's own check covers the other bounds and patterns.
 */
import { derivedFrom } from '../../state/memory/derived-cache.ts';
import { QUOTED_LENGTH_MAX } from '../limits.ts';
import { JsonError } from './strict-json.ts';

/** The subset of JSON Schema that body schemas use. */
interface Shape {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: unknown;
  readonly items?: Shape;
  readonly maxItems?: number;
  readonly anyOf?: readonly Shape[];
}

/** The position in the body: keys and array positions. One array for all values, because few positions are reported. */
type Position = (string | number)[];

/** Returns the normalized value. @throws JsonError */
export const normalizeJson = (schema: object, value: unknown): unknown => normalize(schema, value, []);

function normalize(schema: Shape, value: unknown, position: Position): unknown {
  const shape = schema.anyOf?.find((one) => matchesType(one, value)) ?? schema;
  if (shape.anyOf !== undefined || !matchesType(shape, value)) throw wrongType(schema, value, position);
  if (Array.isArray(value)) return normalizeArray(shape, value, position);
  if (typeof value !== 'object' || value === null) return value;
  if (shape.properties === undefined) return normalizeMap(shape, value, position);
  return normalizeObject(shape, shape.properties, value, position);
}

const matchesType = ({ type }: Shape, value: unknown): boolean => type === undefined || isOfType(value, type);

function wrongType({ anyOf, type }: Shape, value: unknown, position: Position): JsonError {
  const types = anyOf === undefined ? [type] : anyOf.map((one) => one.type);
  const nouns = new Set(types.map((one = 'value') => nounOf(one)));
  return new JsonError(`${pathPrefix(pathOf(position))}want ${[...nouns].join(' or ')}, got ${nounOf(typeOf(value))}`);
}

/** Returns the start of an error message about the value at a path. */
export const pathPrefix = (path: string): string => (path === '' ? '' : `${path}: `);

function normalizeArray({ items, maxItems }: Shape, value: readonly unknown[], position: Position): readonly unknown[] {
  // Checked before the items, because there can be very many.
  if (maxItems !== undefined && value.length > maxItems) {
    throw new JsonError(`${pathPrefix(pathOf(position))}must not have more than ${maxItems} items`);
  }
  if (items === undefined) return value;
  return value.map((item, i) => normalizeAt(items, item, position, i));
}

/** Normalizes a part of the value at a position. */
function normalizeAt(schema: Shape, value: unknown, position: Position, step: string | number): unknown {
  position.push(step);
  const normalized = normalize(schema, value, position);
  position.pop();
  return normalized;
}

function normalizeObject(
  shape: Shape,
  properties: Readonly<Record<string, Shape>>,
  value: object,
  position: Position,
): object {
  const normalized: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const given = (value as Record<string, unknown>)[key];
    const name = propertyName(properties, key);
    if (name === undefined) {
      if (shape.additionalProperties === true) continue;
      throw new JsonError(unknownField(pathOf([...position, key]), key, Object.keys(properties)));
    }
    const property = properties[name];
    if (Object.hasOwn(normalized, name)) {
      throw new JsonError(`json: duplicate field "${pathOf([...position, name])}"`);
    }
    if (property === undefined || (given === null && !allowsNull(property))) continue;
    normalized[name] = normalizeAt(property, given, position, name);
  }
  return normalized;
}

function normalizeMap({ patternProperties = {} }: Shape, value: object, position: Position): object {
  const [property] = Object.values(patternProperties);
  const normalized: Record<string, unknown> = {};
  for (const [key, given] of Object.entries(value)) {
    // Assigning it would set the prototype of `normalized`.
    if (key === '__proto__') throw new JsonError(`${pathPrefix(pathOf(position))}"__proto__" cannot be a key`);
    normalized[key] = property === undefined ? given : normalizeAt(property, given, position, key);
  }
  return normalized;
}

/** Returns the schema's spelling of a key, which is compared without regard to case if there is no exact match. */
function propertyName(properties: Readonly<Record<string, Shape>>, key: string): string | undefined {
  if (Object.hasOwn(properties, key)) return key;
  return foldedNames(properties).get(key.toLowerCase());
}

/** Returns the names of properties by their lower-case spelling. */
const foldedNames = derivedFrom(
  (properties: Readonly<Record<string, Shape>>) =>
    new Map(Object.keys(properties).map((name) => [name.toLowerCase(), name])),
);

function unknownField(path: string, key: string, names: readonly string[]): string {
  const closest = closestName(key, names);
  const message = `json: unknown field ${JSON.stringify(path.slice(0, QUOTED_LENGTH_MAX))}`;
  return closest === undefined ? message : `${message}, did you mean ${JSON.stringify(closest)}?`;
}

/** Returns a position as a path: `Grants[0].Access`. */
const pathOf = (position: Position): string =>
  position.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`;
    return path === '' ? step : `${path}.${step}`;
  }, '');

const allowsNull = (shape: Shape): boolean =>
  shape.type === 'null' || (shape.type === undefined && (shape.anyOf?.some(allowsNull) ?? true));

function isOfType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isSafeInteger(value);
  return typeOf(value) === type;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function nounOf(type: string): string {
  switch (type) {
    case 'null':
      return 'null';
    case 'integer':
      return 'a whole number';
    case 'object':
    case 'array':
      return `an ${type}`;
    default:
      return `a ${type}`;
  }
}

/** Shorter names would be a prefix or suffix of too many candidates. */
const AFFIX_LENGTH_MIN = 3;

/** Longer names are unlikely to be typos, and comparing them would let a client consume CPU. */
const COMPARED_LENGTH_MAX = 64;

/**
 * Returns the name that a misspelled `name` most likely means, for "did you mean" messages: the candidate that differs
 * in at most a third of the letters, or else one that starts or ends with `name`.
 */
function closestName(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = levenshteinDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best ?? candidates.find((candidate) => isAffix(wanted, candidate.toLowerCase()));
}

function isAffix(wanted: string, candidate: string): boolean {
  return wanted.length >= AFFIX_LENGTH_MIN && (candidate.startsWith(wanted) || candidate.endsWith(wanted));
}

function levenshteinDistance(a: string, b: string): number {
  if (a.length > COMPARED_LENGTH_MAX) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
