/** Random JSON values: values that a schema describes, and mutations of them. */
import type { TSchema } from 'typebox';
import type { Random } from '../random.ts';
import { ABSENT_FIELDS, PRESENT_FIELDS, validTexts } from './valid-texts.ts';

/** Strings that a server is likely to handle wrongly. */
const UNUSUAL = [
  ...['', ' ', '*', '.', '..', '-', '_', 'self', 'null', 'x'.repeat(300), '\u0000', '\ud800', '\u202e', '\u{1f600}'],
  ...['%00', '%zz', '__proto__', 'constructor', '1e999', '-1', '9'.repeat(40), 'a,b', '"', '<b>', "'; --", '\u0085'],
];
const USUAL = [
  ...['web', 'db', 'east', 'default', 'eu', 'n1', 'acme', 'beta', 'dev', 'prod', 'passing', 'owners', 'ann'],
  ...['10.0.0.1', '8h', '1h', '2031-01-01T00:00:00Z', '127.0.0.1:8503', 'exported-services', 'service-intentions'],
];

/** Strings that are remembered of each name. The oldest one makes room. */
const REMEMBERED_MAX = 32;
const REMEMBERED_LENGTH_MAX = 4_096;

/**
 * The strings of earlier requests and responses, so that later requests name what exists. A string is known by the name
 * of its field, and by that name in its scope: a part of the API, such as `peering.Name`, or a JSON:API type.
 */
export class KnownStrings {
  readonly #byName = new Map<string, string[]>();
  readonly #pinned = new Map<string, string[]>();

  /** Remembers the strings in a JSON value. The ID of a JSON:API resource is remembered under `id:TYPE`. */
  remember(value: unknown, scope: string): void {
    if (Array.isArray(value)) for (const item of value.slice(0, REMEMBERED_MAX)) this.remember(item, scope);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const { type, id } = value as Readonly<Record<string, unknown>>;
    const inner = typeof type === 'string' ? type : scope;
    for (const [name, each] of Object.entries(value)) {
      if (typeof each === 'string' || typeof each === 'number') {
        this.add(each === id ? `id:${type}` : name, String(each));
        this.add(`${inner}.${name}`, String(each));
      } else this.remember(each, inner);
    }
  }

  add(name: string, value: string): void {
    if (value.length > REMEMBERED_LENGTH_MAX) return;
    const key = name.toLowerCase();
    const known = this.#byName.get(key) ?? [];
    if (known.includes(value)) return;
    this.#byName.set(key, [...known, value].slice(-REMEMBERED_MAX));
  }

  /** Adds a string that later ones do not displace, and that `pick` prefers. */
  pin(name: string, value: string): void {
    this.add(name, value);
    this.#pinned.getOrInsertComputed(name.toLowerCase(), () => []).push(value);
  }

  /** Forgets the name of an item that was deleted. */
  forget(value: string): void {
    for (const [name, known] of [...this.#byName, ...this.#pinned]) {
      const at = known.indexOf(value);
      if (at >= 0) known.splice(at, 1);
      if (known.length === 0) (this.#byName.get(name) === known ? this.#byName : this.#pinned).delete(name);
    }
  }

  has(name: string): boolean {
    return this.#byName.has(name.toLowerCase());
  }

  /** Returns a string that a field of this name had. @throws RangeError if `has` is false */
  pick(name: string, random: Random): string {
    const key = name.toLowerCase();
    const pinned = this.#pinned.get(key);
    return random.pick(pinned !== undefined && random.chance(0.85) ? pinned : (this.#byName.get(key) ?? []));
  }
}

/** Generates values from one source of random numbers. */
export interface RandomValues {
  /** Returns a string for a field or parameter: usually one that a field of the first known name had. */
  text(...names: readonly string[]): string;
  /** Returns a string that is likely to be invalid. */
  unusualText(): string;
  /** Returns a value that the schema describes, as far as types, constants and required fields say. */
  ofSchema(schema: TSchema, name?: string): unknown;
  /** Returns the value with one change somewhere inside. Does not change the value itself. */
  mutated(value: unknown): unknown;
  /** Returns the bytes with a few changes. */
  mutatedBytes(bytes: Buffer): Buffer;
}

/** Where the values of a request come from. */
export interface ValueSource {
  readonly known: KnownStrings;
  /** The part of the API that the request belongs to. Default: none. */
  readonly scope?: string;
  /** Whether to prefer values that endpoints accept. Default: false. */
  readonly valid?: boolean;
}

export function randomValues(random: Random, { known, scope = '', valid = false }: ValueSource): RandomValues {
  const unusualText = (): string => {
    if (random.chance(0.7)) return random.pick(UNUSUAL);
    const below = random.pick([128, 65_536]);
    return String.fromCharCode(...Array.from({ length: random.below(20) }, () => random.below(below)));
  };

  function text(...names: readonly string[]): string {
    const scoped = names.flatMap((name) => [`${scope}.${name}`, name]);
    const texts = validTexts(scoped, random);
    if (texts !== undefined && random.chance(valid ? 0.97 : 0.5)) return random.pick(texts);
    const name = scoped.find((one) => known.has(one));
    if (name !== undefined && random.chance(valid ? 0.9 : 0.8)) return known.pick(name, random);
    if (random.chance(valid ? 0 : 0.1)) return unusualText();
    return random.chance(0.5) ? random.pick(USUAL) : `new-${random.below(1_000)}`;
  }

  function ofSchema(schema: Schema, name = ''): unknown {
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (alternatives !== undefined) {
      const some = alternatives.filter(({ type }) => type !== 'null' || !valid || random.chance(0.1));
      return ofSchema(random.pick(some.length > 0 ? some : alternatives), name);
    }
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return random.pick(schema.enum);
    switch (schema.type) {
      case 'string':
        return text(name);
      case 'integer':
      case 'number':
        return (schema.minimum ?? 0) + random.below(random.pick(valid ? [2, 100] : [2, 100, 70_000]));
      case 'boolean':
        return random.chance(0.5);
      case 'array':
        return Array.from({ length: random.below(4) }, () => ofSchema(schema.items ?? {}, name));
      case 'object':
        return object(schema, name);
      case 'null':
        return null;
      default:
        return unusualValue();
    }
  }

  function isPresent(parent: string, key: string, schema: Schema): boolean {
    if (!valid) return random.chance(0.5);
    const isAbsent = [key, `${parent}.${key}`, `${scope}.${key}`].some((name) => ABSENT_FIELDS.has(name));
    if (isAbsent) return false;
    if (PRESENT_FIELDS.has(key)) return true;
    // A schema without a type describes a field that is refused with its own reason.
    const isUntyped = Object.keys(schema).every((keyword) => keyword === 'description');
    return !isUntyped && random.chance(0.25);
  }

  function object({ properties = {}, required = [], patternProperties = {} }: Schema, name: string): unknown {
    const type = properties['type']?.const;
    const result: Record<string, unknown> = {};
    for (const [key, inner] of Object.entries(properties)) {
      if (!required.includes(key) && !isPresent(name, key, inner)) continue;
      result[key] = ofSchema(inner, key === 'id' && typeof type === 'string' ? idOf(type) : key);
    }
    for (const inner of Object.values(patternProperties)) {
      for (let count = random.below(3); count > 0; count--) result[text(name)] = ofSchema(inner, name);
    }
    return result;
  }

  /** Requests name users by their username. */
  const idOf = (type: string): string => (type === 'users' ? 'users.username' : `id:${type}`);

  const unusualValue = (): unknown =>
    random.pick<() => unknown>([
      () => null,
      () => random.chance(0.5),
      () => random.pick([-1, 0.5, 2 ** 31, 2 ** 53, 1e308]),
      () => [],
      () => ({}),
      () => unusualText(),
      () => ({ [unusualText()]: unusualText() }),
      () => nested(random.below(60)),
    ])();

  function mutated(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || random.chance(0.1)) return unusualValue();
    return Array.isArray(value) ? mutatedArray(value) : mutatedObject(value as Record<string, unknown>);
  }

  function mutatedArray(value: readonly unknown[]): unknown {
    if (value.length === 0 || random.chance(0.2)) return [...value, unusualValue()];
    const at = random.below(value.length);
    if (random.chance(0.2)) return Array.from({ length: 1 + random.below(300) }, () => value[at]);
    return value.with(at, mutated(value[at]));
  }

  function mutatedObject(value: Readonly<Record<string, unknown>>): unknown {
    const entries = Object.entries(value);
    if (entries.length === 0 || random.chance(0.1)) return { ...value, [unusualText()]: unusualValue() };
    const [key, inner] = random.pick(entries);
    const { [key]: _, ...rest } = value;
    if (random.chance(0.15)) return rest;
    if (random.chance(0.15)) return { ...rest, [random.chance(0.5) ? key.toUpperCase() : unusualText()]: inner };
    return { ...value, [key]: mutated(inner) };
  }

  function mutatedBytes(bytes: Buffer): Buffer {
    let result = bytes;
    for (let count = 1 + random.below(4); count > 0; count--) {
      const at = random.below(result.length + 1);
      const [before, after] = [result.subarray(0, at), result.subarray(at)];
      const change = random.pick(['insert', 'delete', 'repeat', 'cut', 'replace'] as const);
      if (change === 'insert') result = Buffer.concat([before, Buffer.from([random.below(256)]), after]);
      else if (change === 'delete') result = Buffer.concat([before, after.subarray(1 + random.below(4))]);
      else if (change === 'repeat') result = Buffer.concat([before, before.subarray(-1 - random.below(20)), after]);
      else if (change === 'cut') result = before;
      else result = Buffer.concat([before, Buffer.from([random.below(256)]), after.subarray(1)]);
    }
    return result;
  }

  return { text, unusualText, ofSchema: (schema, name) => ofSchema(schema as Schema, name), mutated, mutatedBytes };
}

/** The used keywords of JSON Schema. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly minimum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

function nested(depth: number): unknown {
  let value: unknown = 0;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}
