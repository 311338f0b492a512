/** Parses JSON bodies of `/v1` with the schema that also describes the API. Ignores the declared content type. */
import type { Static, TSchema } from 'typebox';
import type { TLocalizedValidationError } from 'typebox/error';
import { Compile, Errors } from 'typebox/schema';
import type { Steps } from '../../state/clock/slices.ts';
import { ServiceError } from '../errors.ts';
import { normalizeJson, pathPrefix } from '../json/normalize-json.ts';
import { JsonError, parseStrictJson } from '../json/strict-json.ts';
import { QUOTED_LENGTH_MAX } from '../limits.ts';

/**
 * Returns the parsed body. Keys match without regard to case, and a null counts as an absent field. An empty body
 * counts as an empty object, so that the error lists the missing fields.
 * @throws ServiceError `bad-request`, `Body decoding failed: …` with the path of the invalid value
 */
export const parseBody = <S extends TSchema>(schema: S, bytes: Uint8Array): Static<S> =>
  checkBody(schema, parseJsonBody(bytes));

/** Items of an array that are checked at once. */
const CHECKED_ITEMS = 256;

/**
 * As `checkBody`, but checks the items of a long array in slices. It does not see how many items there are, so the
 * schema must not limit them with `maxItems`.
 */
export function* checkBodyInSlices<S extends TSchema>(schema: S, body: unknown): Steps<Static<S>> {
  const long = isRecord(body) ? Object.entries(body).find(([, value]) => isLong(value)) : undefined;
  if (long === undefined) return checkBody(schema, body);
  const [name, items] = long as readonly [string, readonly unknown[]];
  let whole: Record<string, unknown> | undefined;
  for (let start = 0; start < items.length; start += CHECKED_ITEMS) {
    const part = { ...(body as object), [name]: items.slice(start, start + CHECKED_ITEMS) };
    let checked: Record<string, unknown>;
    try {
      checked = checkBody(schema, part) as Record<string, unknown>;
    } catch {
      // Reports the error at its place in the whole body.
      return checkBody(schema, body);
    }
    if (whole === undefined) whole = checked;
    else appendItems(whole, checked, name);
    yield;
  }
  return whole as Static<S>;
}

const isLong = (value: unknown): boolean => Array.isArray(value) && value.length > CHECKED_ITEMS;

/** Appends the items of a part. The normalized body has the schema's spelling of the name. */
function appendItems(whole: Record<string, unknown>, part: Readonly<Record<string, unknown>>, name: string): void {
  const key = Object.keys(part).find((one) => one.toLowerCase() === name.toLowerCase()) ?? name;
  (whole[key] as unknown[]).push(...(part[key] as readonly unknown[]));
}

/** Returns the JSON value of a body, for `checkBody`. @throws ServiceError `bad-request` */
export function parseJsonBody(bytes: Uint8Array): unknown {
  try {
    return bytes.length === 0 ? {} : parseStrictJson(bytes);
  } catch (error) {
    throw error instanceof JsonError ? toServiceError(error) : error;
  }
}

/** Returns the value of a body in the form of a schema. @throws ServiceError `bad-request` */
export function checkBody<S extends TSchema>(schema: S, body: unknown): Static<S> {
  try {
    const value = normalizeJson(schema, body);
    if (validatorOf(schema).Check(value)) return value as Static<S>;
    throw new JsonError(firstError(schema, value));
  } catch (error) {
    throw error instanceof JsonError ? toServiceError(error) : error;
  }
}

/** Compiles a schema at first use. Checking is then 40 times as fast as interpreting the schema for each body. */
const validators = new WeakMap<TSchema, ReturnType<typeof Compile>>();
const validatorOf = (schema: TSchema): ReturnType<typeof Compile> =>
  validators.getOrInsertComputed(schema, () => Compile(schema));

const toServiceError = (cause: JsonError): ServiceError =>
  new ServiceError('bad-request', `Body decoding failed: ${cause.message}`, { cause });

/** Describes the first error. Collects errors only in the smallest invalid part, because bodies can have long arrays. */
function firstError(whole: TSchema, body: unknown): string {
  const { schema, value, path: partPath } = smallestInvalidPart({ schema: whole, value: body, path: '' });
  const [, errors] = Errors(schema, value);
  // The types are correct already, but every alternative of an `anyOf` that does not match reports its type.
  const error = errors.find(({ keyword }) => keyword !== 'type' && keyword !== 'anyOf') ?? errors[0];
  if (error === undefined) return 'the body does not fit';
  const { keyword, instancePath, params } = error;
  const path = pathOf(partPath, instancePath);
  if (keyword === 'required') return `${pathPrefix(path)}${params.requiredProperties.join(', ')} missing`;
  if (keyword !== 'const' && keyword !== 'enum') return `${pathPrefix(path)}${error.message}`;
  // Each alternative reports its own allowed value for the same path.
  const allowed = errors.filter((other) => other.instancePath === instancePath).flatMap(allowedValues);
  const given = JSON.stringify(valueAt(value, instancePath)).slice(0, QUOTED_LENGTH_MAX);
  return `${pathPrefix(path)}want ${allowed.map((one) => JSON.stringify(one)).join(' or ')}, got ${given}`;
}

function allowedValues(error: TLocalizedValidationError): readonly unknown[] {
  if (error.keyword === 'const') return [error.params.allowedValue];
  return error.keyword === 'enum' ? error.params.allowedValues : [];
}

/** Appends a JSON Pointer to a path: `Grants[0]` and `/Access` → `Grants[0].Access`. */
function pathOf(partPath: string, pointer: string): string {
  return segments(pointer).reduce((path, segment) => {
    if (/^\d+$/.test(segment)) return `${path}[${segment}]`;
    return path === '' ? segment : `${path}.${segment}`;
  }, partPath);
}

interface Part {
  readonly schema: TSchema;
  readonly value: unknown;
  /** The position of the value in the body. */
  readonly path: string;
}

/** Returns the first part that is invalid although its own parts are valid. Its valid arrays are left out. */
function smallestInvalidPart(part: Part): Part {
  const inner = partsOf(part).find(({ schema, value }) => !validatorOf(schema).Check(value));
  if (inner !== undefined) return smallestInvalidPart(inner);
  const { schema, value, path } = part;
  if (!isRecord(value)) return part;
  const short = Object.entries(value).map(([name, one]) => [name, Array.isArray(one) ? [] : one]);
  return { schema, value: Object.fromEntries(short), path };
}

/** Returns the parts that a schema describes: elements of an array, or properties of an object. */
function* partsOf({ schema, value, path }: Part): Generator<Part> {
  const { items, properties } = schema as { readonly items?: TSchema; readonly properties?: Record<string, TSchema> };
  if (Array.isArray(value)) {
    if (items === undefined) return;
    for (const [i, one] of value.entries()) yield { schema: items, value: one, path: `${path}[${i}]` };
  } else if (properties !== undefined && isRecord(value)) {
    for (const [name, property] of Object.entries(properties)) {
      if (!Object.hasOwn(value, name)) continue;
      yield { schema: property, value: value[name], path: path === '' ? name : `${path}.${name}` };
    }
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function valueAt(value: unknown, pointer: string): unknown {
  return (
    segments(pointer).reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], value) ?? null
  );
}

const segments = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
