/** Attributes that are kept and given back as clients send them: declared as data, checked by their schemas. */
import { type TProperties, type TSchema, Type } from 'typebox';
import { Compile, type Validator } from 'typebox/schema';
import { TEXTS_MAX } from '../limits.ts';
import { attributeFault, type Fault } from './errors.ts';
import { TEXT_WANTED, textKeySchema, textSchema } from './text.ts';

export interface Setting {
  readonly schema: TSchema;
  /** What is shown where nothing was sent. */
  readonly fallback: unknown;
  /** What is wanted, for messages. */
  readonly wanted: string;
}

/** Settings by the names of their attributes. */
export type Settings = Readonly<Record<string, Setting>>;

export const flag = (fallback: boolean): Setting => ({ schema: Type.Boolean(), fallback, wanted: 'true or false' });
export const wholeNumber = (fallback: number): Setting => ({
  schema: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  fallback,
  wanted: 'a whole number from 0',
});
export const line = (fallback: string): Setting => ({ schema: textSchema, fallback, wanted: TEXT_WANTED });
export const optionalLine: Setting = {
  schema: Type.Union([textSchema, Type.Null()]),
  fallback: null,
  wanted: TEXT_WANTED,
};
export const lines: Setting = {
  schema: Type.Array(textSchema, { maxItems: TEXTS_MAX }),
  fallback: [],
  wanted: `a list of up to ${TEXTS_MAX} texts, each of ${TEXT_WANTED}`,
};
export const flags: Setting = {
  schema: Type.Union([
    Type.Record(textKeySchema, Type.Boolean(), { maxProperties: TEXTS_MAX, additionalProperties: false }),
    Type.Null(),
  ]),
  fallback: null,
  wanted: `an object of up to ${TEXTS_MAX} names, each with true or false`,
};

/** The same setting for each name. */
export const each = (names: readonly string[], setting: Setting): Settings =>
  Object.fromEntries(names.map((name) => [name, setting]));

/** What was sent of the settings; a null where none can be kept says nothing. Faults are added to `faults`. */
export function readSettings(
  settings: Settings,
  given: Readonly<Record<string, unknown>>,
  faults: Fault[],
): Readonly<Record<string, unknown>> {
  const sent: Record<string, unknown> = {};
  for (const [name, { schema, wanted }] of Object.entries(settings)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined) continue;
    if (fits(schema, value)) sent[name] = value;
    else if (value !== null) faults.push(attributeFault(name, `${labelOf(name)} is invalid: want ${wanted}`));
  }
  return sent;
}

/** The settings as they are shown. */
export const shownSettings = (
  settings: Settings,
  kept: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(settings).map(([name, { fallback }]) => [name, kept[name] ?? fallback]));

/** The settings in a schema. */
export const settingProperties = (settings: Settings): TProperties =>
  Object.fromEntries(Object.entries(settings).map(([name, { schema }]) => [name, schema]));

/** `auto-apply` → `Auto apply`. */
export const labelOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ');

const validators = new WeakMap<TSchema, Validator>();

function fits(schema: TSchema, value: unknown): boolean {
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = Compile(schema);
    validators.set(schema, validator);
  }
  return validator.Check(value);
}
