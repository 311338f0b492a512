/**
 * Settings: attributes that the server validates, stores and returns. Declared as data. A setting that would promise an
 * effect which the server does not have accepts only the values that promise nothing.
 */
import { type TProperties, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/schema';
import { QUOTED_LENGTH_MAX } from '../../http/limits.ts';
import { TEXTS_MAX } from '../limits.ts';
import { attributeError, type ErrorObject } from './errors.ts';
import { labelOf, TEXT_EXPECTED, textKeySchema, textSchema } from './read-attributes.ts';

export interface Setting {
  readonly schema: TSchema;
  /** Value in documents when no client has set it. */
  readonly defaultValue: unknown;
  /** Description of a valid value in error messages. */
  readonly expected: string;
  /** The accepted values, and the reason for which the server refuses the others. Absent: all valid values. */
  readonly only?: { readonly values: readonly unknown[]; readonly reason: string };
}

/** Limits a setting to values without an effect. `reason` completes "… is not supported: …". */
export const withoutEffect = (setting: Setting, values: readonly unknown[], reason: string): Setting => ({
  ...setting,
  only: { values, reason },
});

export type Settings = Readonly<Record<string, Setting>>;

export const booleanSetting = (defaultValue: boolean): Setting => ({
  schema: Type.Boolean(),
  defaultValue,
  expected: 'true or false',
});
export const integerSetting = (defaultValue: number): Setting => ({
  schema: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  defaultValue,
  expected: 'a whole number from 0',
});
export const textSetting = (defaultValue: string): Setting => ({
  schema: textSchema,
  defaultValue,
  expected: TEXT_EXPECTED,
});
export const nullableTextSetting: Setting = {
  schema: Type.Union([textSchema, Type.Null()]),
  defaultValue: null,
  expected: TEXT_EXPECTED,
};
export const textListSetting: Setting = {
  schema: Type.Array(textSchema, { maxItems: TEXTS_MAX }),
  defaultValue: [],
  expected: `a list of up to ${TEXTS_MAX} texts, each of ${TEXT_EXPECTED}`,
};
export const booleanMapSetting: Setting = {
  schema: Type.Union([
    Type.Record(textKeySchema, Type.Boolean(), { maxProperties: TEXTS_MAX, additionalProperties: false }),
    Type.Null(),
  ]),
  defaultValue: null,
  expected: `an object of up to ${TEXTS_MAX} names, each with true or false`,
};

export const repeatSetting = (names: readonly string[], setting: Setting): Settings =>
  Object.fromEntries(names.map((name) => [name, setting]));

/** Reads the settings in a request body and appends to `errors`. Ignores null for settings that cannot be null. */
export function readSettings(
  settings: Settings,
  attributes: Readonly<Record<string, unknown>>,
  errors: ErrorObject[],
): Readonly<Record<string, unknown>> {
  const sent: Record<string, unknown> = {};
  for (const [name, { schema, expected, only }] of Object.entries(settings)) {
    const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    if (value === undefined) continue;
    if (isValid(schema, value) && only !== undefined && !only.values.includes(value)) {
      const shown = JSON.stringify(value).slice(0, QUOTED_LENGTH_MAX);
      errors.push(attributeError(name, `${labelOf(name)} ${shown} is not supported: ${only.reason}`));
    } else if (isValid(schema, value)) sent[name] = value;
    else if (value !== null) errors.push(attributeError(name, `${labelOf(name)} is invalid: want ${expected}`));
  }
  return sent;
}

export const settingsToJson = (
  settings: Settings,
  stored: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, { defaultValue, only }]) => {
      const value = stored[name] ?? defaultValue;
      // An older version may have stored a value that the server does not accept any more.
      return [name, only?.values.includes(value) === false ? defaultValue : value];
    }),
  );

export const settingProperties = (settings: Settings): TProperties =>
  Object.fromEntries(Object.entries(settings).map(([name, { schema }]) => [name, schema]));

const validators = new WeakMap<TSchema, ReturnType<typeof Compile>>();
const validatorOf = (schema: TSchema): ReturnType<typeof Compile> =>
  validators.getOrInsertComputed(schema, () => Compile(schema));

const isValid = (schema: TSchema, value: unknown): boolean => validatorOf(schema).Check(value);
