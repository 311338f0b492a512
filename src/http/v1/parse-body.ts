/** Bodies of `/v1`: JSON whatever type is declared, validated and typed by the schema that also describes the API. */
import type { Static, TSchema } from 'typebox';
import type { TLocalizedValidationError } from 'typebox/error';
import { Compile, Errors, type Validator } from 'typebox/schema';
import { ServiceError } from '../errors.ts';
import { fitSchema, place } from '../json/fit-schema.ts';
import { JsonProblem, parseStrictJson } from '../json/strict-json.ts';
import { QUOTED_LENGTH_MAX } from '../limits.ts';

/**
 * The body as the schema says. Keys match without regard to case; a null stands for an absent field; an empty body is
 * an empty object, so that the fields it lacks are what is complained about.
 * @throws ServiceError `bad-request`, `Body decoding failed: …` with the path of what is wrong
 */
export function parseBody<S extends TSchema>(schema: S, bytes: Uint8Array): Static<S> {
  try {
    const value = fitSchema(schema, bytes.length === 0 ? {} : parseStrictJson(bytes));
    if (validatorOf(schema).Check(value)) return value as Static<S>;
    throw new JsonProblem(firstError(schema, value));
  } catch (error) {
    throw error instanceof JsonProblem ? refusal(error) : error;
  }
}

const validators = new WeakMap<TSchema, Validator>();

/** Compiled when first used: forty times as fast as reading the schema anew for each body. */
function validatorOf(schema: TSchema): Validator {
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = Compile(schema);
    validators.set(schema, validator);
  }
  return validator;
}

const refusal = (cause: JsonProblem): ServiceError =>
  new ServiceError('bad-request', `Body decoding failed: ${cause.message}`, { cause });

function firstError(schema: TSchema, value: unknown): string {
  const [, errors] = Errors(schema, value);
  // Types fit already, but the alternatives that a value is not complain of theirs.
  const error = errors.find(({ keyword }) => keyword !== 'type' && keyword !== 'anyOf') ?? errors[0];
  if (error === undefined) return 'the body does not fit';
  const { keyword, instancePath, params } = error;
  const path = pathOf(instancePath);
  if (keyword === 'required') return `${place(path)}${params.requiredProperties.join(', ')} missing`;
  if (keyword !== 'const' && keyword !== 'enum') return `${place(path)}${error.message}`;
  // Alternatives complain one after another, each of the same place.
  const allowed = errors.filter((other) => other.instancePath === instancePath).flatMap(allowedBy);
  const given = JSON.stringify(valueAt(value, instancePath)).slice(0, QUOTED_LENGTH_MAX);
  return `${place(path)}want ${allowed.map((one) => JSON.stringify(one)).join(' or ')}, got ${given}`;
}

function allowedBy(error: TLocalizedValidationError): readonly unknown[] {
  if (error.keyword === 'const') return [error.params.allowedValue];
  return error.keyword === 'enum' ? error.params.allowedValues : [];
}

/** `/Grants/0/Access` → `Grants[0].Access`. */
function pathOf(pointer: string): string {
  return segments(pointer).reduce((path, segment) => {
    if (/^\d+$/.test(segment)) return `${path}[${segment}]`;
    return path === '' ? segment : `${path}.${segment}`;
  }, '');
}

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
