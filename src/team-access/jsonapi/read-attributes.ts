/** Readers of attributes, one per kind. They append to `errors`, and treat null like a missing attribute. */
import { Type } from 'typebox';
import { TEXT_CHARACTERS_MAX } from '../../credentials/limits.ts';
import { attributeError, type ErrorObject } from './errors.ts';
import { attributeValue, type RawAttributes } from './read-resource.ts';

const NAME = /^[A-Za-z0-9_-]+$/;

/** Reads `name`, which must be present unless `optional`: letters, digits, `_` and `-`. */
export function readName(
  attributes: RawAttributes,
  errors: ErrorObject[],
  { maximum, optional = false }: { readonly maximum: number; readonly optional?: boolean },
): string | undefined {
  const name = attributeValue(attributes, 'name');
  const absent = !Object.hasOwn(attributes, 'name');
  if (name === undefined || name === '') {
    if (!(optional && absent)) errors.push(attributeError('name', "Name can't be blank"));
    return undefined;
  }
  if (typeof name === 'string' && name.length <= maximum && NAME.test(name)) return name;
  const detail = `Name is invalid: want up to ${maximum} letters, digits, underscores and hyphens`;
  errors.push(attributeError('name', detail));
  return undefined;
}

export const nameTakenError = (): ErrorObject => attributeError('name', 'Name has already been taken');

export function readText(attributes: RawAttributes, name: string, errors: ErrorObject[]): string | undefined {
  const value = attributeValue(attributes, name);
  if (value === undefined) return undefined;
  if (isText(value)) return value;
  errors.push(attributeError(name, `${labelOf(name)} is invalid: want ${TEXT_EXPECTED}`));
  return undefined;
}

/** Reads a text that null removes. Returns `undefined` when it is missing. */
export const readNullableText = (
  attributes: RawAttributes,
  name: string,
  errors: ErrorObject[],
): string | null | undefined =>
  Object.hasOwn(attributes, name) && attributes[name] === null ? null : readText(attributes, name, errors);

export function readBoolean(attributes: RawAttributes, name: string, errors: ErrorObject[]): boolean | undefined {
  const value = attributeValue(attributes, name);
  if (value === undefined || typeof value === 'boolean') return value;
  errors.push(attributeError(name, `${labelOf(name)} is not included in the list`));
  return undefined;
}

export function readChoice<Value extends string>(
  attributes: RawAttributes,
  name: string,
  values: readonly Value[],
  errors: ErrorObject[],
): Value | undefined {
  const value = attributeValue(attributes, name);
  if (value === undefined) return undefined;
  const known = values.find((one) => one === value);
  if (known === undefined) errors.push(attributeError(name, `${labelOf(name)} is not included in the list`));
  return known;
}

/**
 * Excludes invisible characters, because lists contain addresses, and commas, because filters separate addresses with
 * them. Also excludes quotes and brackets, which RFC 5322 allows but real addresses do not contain.
 */
const EMAIL = /^[^\s@,;:<>()[\]"\\\p{C}]+@[^\s@,;:<>()[\]"\\\p{C}]+$/u;

export function readEmail(attributes: RawAttributes, errors: ErrorObject[], required: boolean): string | undefined {
  const email = readText(attributes, 'email', errors);
  if (email === undefined || email === '') {
    if (required && attributeValue(attributes, 'email') === email)
      errors.push(attributeError('email', "Email can't be blank"));
    return undefined;
  }
  if (EMAIL.test(email)) return email;
  errors.push(attributeError('email', 'Email is invalid: want an address such as name@example.org'));
  return undefined;
}

/**
 * Allows no control characters except tab, CR and LF, because terminals and logs show texts, and no unpaired
 * surrogates, because the keys of the store are valid UTF-8. For the flag `u`.
 */
const PATTERN = '^[^\\p{Cs}\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]*$';
const TEXT = new RegExp(PATTERN, 'u');

export const textSchema = Type.String({ maxLength: TEXT_CHARACTERS_MAX, pattern: PATTERN });

/** The schema of the keys of a setting that is a map. */
export const textKeySchema = Type.String({ pattern: PATTERN });

/** The description of a valid text in error messages. */
export const TEXT_EXPECTED = `up to ${TEXT_CHARACTERS_MAX} characters, with no control characters except tabs and line ends`;

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= TEXT_CHARACTERS_MAX && TEXT.test(value);

/** Returns the name of an attribute in error messages: `auto-apply` becomes `Auto apply`. */
export const labelOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ');
