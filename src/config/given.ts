/**
 * Collects the given values of all settings from flags, environment variables, and the file, in this order of
 * precedence.
 */
import { ConfigError, quote } from './error.ts';
import { readConfigFile } from './file.ts';
import type { GivenValue } from './given-value.ts';
import { didYouMean } from './nearest-name.ts';
import type { Host } from './setting.ts';
import { flagOf, isSettingKey, type SettingKey, secretVariableOf, settingKeys, variableOf } from './table.ts';

export interface Sources {
  /** Values of flags, by key of the setting. */
  readonly flags: ReadonlyMap<string, string>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The path of `--config`. Without it, `./accord.yaml` is used if it exists. */
  readonly configFile: string | undefined;
  readonly host: Host;
}

/** Variables of the command line's client, which checks them itself. */
export const CLIENT_VARIABLES = ['ACCORD_ADDRESS', 'ACCORD_TOKEN', 'ACCORD_API_TOKEN', 'ACCORD_CA_FILE'] as const;
const TEST_PREFIX = 'ACCORD_TEST_';

const variables = new Map<string, { readonly key: SettingKey; readonly isSecret: boolean }>();
for (const key of settingKeys) {
  variables.set(variableOf(key), { key, isSecret: false });
  const secretVariable = secretVariableOf(key);
  if (secretVariable !== undefined) variables.set(secretVariable, { key, isSecret: true });
}

/** Returns the given values, by key. @throws ConfigError for an unknown name, or a setting that is given twice */
export async function gather(sources: Sources): Promise<ReadonlyMap<SettingKey, GivenValue>> {
  const given = new Map<SettingKey, GivenValue>();
  for (const entry of await readConfigFile(sources.configFile)) given.set(entry.key, entry);
  for (const entry of fromEnvironment(sources.environment)) given.set(entry.key, entry);
  for (const [key, value] of sources.flags) {
    if (!isSettingKey(key)) throw new ConfigError(`there is no setting ${quote(key)}${didYouMean(key, settingKeys)}`);
    const origin = { kind: 'flag', name: flagOf(key) } as const;
    given.set(key, { key, text: value.trim(), origin, isSecret: false });
  }
  return given;
}

function fromEnvironment(environment: Sources['environment']): readonly GivenValue[] {
  const given = new Map<SettingKey, GivenValue>();
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || !name.startsWith('ACCORD_') || isForeign(name)) continue;
    const setting = variables.get(name);
    if (setting === undefined) {
      throw new ConfigError(`${name} in the environment is not a setting${didYouMean(name, [...variables.keys()])}`);
    }
    const earlier = given.get(setting.key);
    if (earlier?.origin.kind === 'variable') {
      throw new ConfigError(`${earlier.origin.name} and ${name} are both in the environment: want one of them`);
    }
    const text = setting.isSecret ? value : value.trim();
    given.set(setting.key, { ...setting, text, origin: { kind: 'variable', name } });
  }
  return [...given.values()];
}

const isForeign = (name: string): boolean =>
  name.startsWith(TEST_PREFIX) || (CLIENT_VARIABLES as readonly string[]).includes(name);
