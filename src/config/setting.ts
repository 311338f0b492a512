/** The types of the settings table, and the type of the configuration that results from it. */
import type { Kind } from './kinds.ts';
import type { Secret } from './secrets.ts';

/** The properties of the machine and the process that defaults depend on. */
export interface Host {
  readonly name: string;
  /** Whether logs go to a terminal. */
  readonly isTerminal: boolean;
}

/** A setting that always has a value. `shown` describes a computed default. */
export interface RequiredSetting<T> {
  readonly presence: 'required';
  readonly kind: Kind<T>;
  readonly defaultText: string | { readonly shown: string; readonly of: (host: Host) => string };
  readonly meaning: string;
}

/** A setting that may be absent. `absentText` describes what applies then. */
export interface OptionalSetting<T> {
  readonly presence: 'optional';
  readonly kind: Kind<T>;
  readonly absentText: string;
  readonly meaning: string;
}

/** A `…-file` setting, whose content may come from a variable instead. `kind` is the kind of the content. */
export interface SecretSetting<T> {
  readonly presence: 'secret';
  readonly kind: Kind<T>;
  readonly absentText: string;
  readonly meaning: string;
}

export type Setting = RequiredSetting<unknown> | OptionalSetting<unknown> | SecretSetting<unknown>;

export function required<T>(
  kind: Kind<T>,
  defaultText: RequiredSetting<T>['defaultText'],
  meaning: string,
): RequiredSetting<T> {
  return { presence: 'required', kind, defaultText, meaning };
}

export function optional<T>(kind: Kind<T>, meaning: string, shown = 'none'): OptionalSetting<T> {
  return { presence: 'optional', kind, absentText: shown, meaning };
}

export function secret<T>(kind: Kind<T>, meaning: string, shown = 'none'): SecretSetting<T> {
  return { presence: 'secret', kind, absentText: shown, meaning };
}

type ValueOf<S> =
  S extends RequiredSetting<infer T>
    ? T
    : S extends OptionalSetting<infer T>
      ? T | undefined
      : S extends SecretSetting<infer T>
        ? Secret<T> | undefined
        : never;

/** `tls-cert` → `tlsCert`. */
type CamelCase<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

/** The property name of a setting. A secret's property has no suffix `File`. */
type PropertyOf<Name extends string, S> =
  S extends SecretSetting<unknown> ? (Name extends `${infer Base}-file` ? CamelCase<Base> : never) : CamelCase<Name>;

type GroupOf<Key> = Key extends `${infer Group}.${string}` ? Group : never;

/** The settings of a table as nested, frozen values: `http.tls-cert` is `config.http.tlsCert`. */
export type ConfigOf<Table> = {
  readonly [Key in keyof Table & string as Key extends `${string}.${string}`
    ? never
    : PropertyOf<Key, Table[Key]>]: ValueOf<Table[Key]>;
} & {
  readonly [Group in GroupOf<keyof Table> as CamelCase<Group>]: {
    readonly [Key in keyof Table & `${Group}.${string}` as Key extends `${Group}.${infer Name}`
      ? PropertyOf<Name, Table[Key]>
      : never]: ValueOf<Table[Key]>;
  };
};

const camelCase = (name: string): string => name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Returns the property path of a setting in `ConfigOf`. */
export function propertyPath(key: string, setting: Setting): readonly string[] {
  const name = setting.presence === 'secret' ? key.replace(/-file$/, '') : key;
  return name.split('.').map(camelCase);
}
