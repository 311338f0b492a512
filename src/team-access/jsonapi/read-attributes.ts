/** Reads attributes of their own rules, one function a kind. Faults are added to `faults`; null counts as not given. */
import { attributeFault, type Fault } from './errors.ts';
import { labelOf } from './settings.ts';
import { isText, TEXT_WANTED } from './text.ts';

/** Attributes as they came. */
export type Given = Readonly<Record<string, unknown>>;

/** What was given of an attribute; `undefined` for nothing and null. */
export const given = (attributes: Given, name: string): unknown =>
  Object.hasOwn(attributes, name) ? (attributes[name] ?? undefined) : undefined;

const NAME = /^[A-Za-z0-9_-]+$/;

/** A name that must be there, unless `optional`; letters, digits, `_` and `-`. */
export function readName(
  attributes: Given,
  faults: Fault[],
  { maximum, optional = false }: { readonly maximum: number; readonly optional?: boolean },
): string | undefined {
  const name = given(attributes, 'name');
  const absent = !Object.hasOwn(attributes, 'name');
  if (name === undefined || name === '') {
    if (!(optional && absent)) faults.push(attributeFault('name', "Name can't be blank"));
    return undefined;
  }
  if (typeof name === 'string' && name.length <= maximum && NAME.test(name)) return name;
  const detail = `Name is invalid: want up to ${maximum} letters, digits, underscores and hyphens`;
  faults.push(attributeFault('name', detail));
  return undefined;
}

/** The fault of a name that another has. */
export const nameTaken = (): Fault => attributeFault('name', 'Name has already been taken');

/** A text; `undefined` when not given. */
export function readText(attributes: Given, name: string, faults: Fault[]): string | undefined {
  const value = given(attributes, name);
  if (value === undefined) return undefined;
  if (isText(value)) return value;
  faults.push(attributeFault(name, `${labelOf(name)} is invalid: want ${TEXT_WANTED}`));
  return undefined;
}

/** A text that null takes away; `undefined` when not given. */
export const readNullableText = (attributes: Given, name: string, faults: Fault[]): string | null | undefined =>
  Object.hasOwn(attributes, name) && attributes[name] === null ? null : readText(attributes, name, faults);

/** True or false; `undefined` when not given. */
export function readBoolean(attributes: Given, name: string, faults: Fault[]): boolean | undefined {
  const value = given(attributes, name);
  if (value === undefined || typeof value === 'boolean') return value;
  faults.push(attributeFault(name, `${labelOf(name)} is not included in the list`));
  return undefined;
}

/** One of some values. */
export function readChoice<Value extends string>(
  attributes: Given,
  name: string,
  values: readonly Value[],
  faults: Fault[],
): Value | undefined {
  const value = given(attributes, name);
  if (value === undefined) return undefined;
  const known = values.find((one) => one === value);
  if (known === undefined) faults.push(attributeFault(name, `${labelOf(name)} is not included in the list`));
  return known;
}

/**
 * Neither blank nor invisible: an address stands in lists as it is read. A comma separates several in filters; quotes and
 * brackets, which the standard allows, are in no address that people have.
 */
const EMAIL = /^[^\s@,;:<>()[\]"\\\p{C}]+@[^\s@,;:<>()[\]"\\\p{C}]+$/u;

/** An e-mail address, as far as can be told without sending to it; no two users differ only in case. */
export function readEmail(attributes: Given, faults: Fault[], required: boolean): string | undefined {
  const email = readText(attributes, 'email', faults);
  if (email === undefined || email === '') {
    if (required && given(attributes, 'email') === email) faults.push(attributeFault('email', "Email can't be blank"));
    return undefined;
  }
  if (EMAIL.test(email)) return email;
  faults.push(attributeFault('email', 'Email is invalid: want an address such as name@example.org'));
  return undefined;
}
