/**
 * Brings a JSON value into the shape of a schema: keys get the schema's spelling, nulls that stand for nothing go,
 * unknown fields and wrong types are refused. Bounds and patterns are left to the schema's own check.
 */
import { QUOTED_LENGTH_MAX } from '../limits.ts';
import { nearestName } from './closest-name.ts';
import { JsonProblem } from './strict-json.ts';

/** The part of JSON Schema that bodies are declared with. */
interface Shape {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: unknown;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
}

/** The value in the schema's shape; `path` is where it stands, empty for the body itself. @throws JsonProblem */
export function fitSchema(schema: object, value: unknown, path = ''): unknown {
  const alternatives = (schema as Shape).anyOf ?? [schema as Shape];
  const shape = alternatives.find(({ type }) => type === undefined || isOfType(value, type));
  if (shape === undefined) {
    const nouns = new Set(alternatives.map(({ type = 'value' }) => nounOf(type)));
    throw new JsonProblem(`${place(path)}want ${[...nouns].join(' or ')}, got ${nounOf(typeOf(value))}`);
  }
  if (Array.isArray(value)) {
    const { items } = shape;
    return items === undefined ? value : value.map((item, i) => fitSchema(items, item, `${path}[${i}]`));
  }
  if (typeof value !== 'object' || value === null) return value;
  return shape.properties === undefined ? fitMap(shape, value, path) : fitObject(shape, shape.properties, value, path);
}

/** A path as it begins a message. */
export const place = (path: string): string => (path === '' ? '' : `${path}: `);

function fitObject(shape: Shape, properties: Readonly<Record<string, Shape>>, value: object, path: string): object {
  const fitted: Record<string, unknown> = {};
  for (const [key, given] of Object.entries(value)) {
    const name = nameIn(properties, key);
    if (name === undefined) {
      if (shape.additionalProperties === true) continue;
      throw new JsonProblem(unknownField(join(path, key), key, Object.keys(properties)));
    }
    const property = properties[name];
    if (Object.hasOwn(fitted, name)) throw new JsonProblem(`json: duplicate field "${join(path, name)}"`);
    if (property === undefined || (given === null && !takesNull(property))) continue;
    fitted[name] = fitSchema(property, given, join(path, name));
  }
  return fitted;
}

function fitMap({ patternProperties = {} }: Shape, value: object, path: string): object {
  const [property] = Object.values(patternProperties);
  const fitted: Record<string, unknown> = {};
  for (const [key, given] of Object.entries(value)) {
    // Assigned, it would become the prototype of what was parsed.
    if (key === '__proto__') throw new JsonProblem(`${place(path)}"__proto__" cannot be a key`);
    fitted[key] = property === undefined ? given : fitSchema(property, given, join(path, key));
  }
  return fitted;
}

/** The schema's spelling of a key: the same, or the same but for case. */
function nameIn(properties: Readonly<Record<string, Shape>>, key: string): string | undefined {
  if (Object.hasOwn(properties, key)) return key;
  const folded = key.toLowerCase();
  return Object.keys(properties).find((name) => name.toLowerCase() === folded);
}

function unknownField(path: string, key: string, names: readonly string[]): string {
  const nearest = nearestName(key, names);
  const message = `json: unknown field ${JSON.stringify(path.slice(0, QUOTED_LENGTH_MAX))}`;
  return nearest === undefined ? message : `${message}, did you mean ${JSON.stringify(nearest)}?`;
}

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

const takesNull = (shape: Shape): boolean =>
  shape.type === 'null' || (shape.type === undefined && (shape.anyOf?.some(takesNull) ?? true));

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
