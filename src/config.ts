/**
 * Loads the settings of the server into one frozen object. `config/table.ts` declares them.
 *
 * A flag overrides a variable, which overrides the file, which overrides the default. An unknown, invalid, or
 * contradictory setting stops the start, because an ignored setting would only be noticed in production [SRV-8].
 */
import { hostname } from 'node:os';
import { ConfigError, describeOrigin, type Origin, quote } from './config/error.ts';
import { CLIENT_VARIABLES, gather, type Sources } from './config/given.ts';
import type { GivenValue } from './config/given-value.ts';
import { firstViolation, warningsOf } from './config/rules.ts';
import { secretInFile, secretInVariable } from './config/secrets.ts';
import { type Host, propertyPath } from './config/setting.ts';
import { type Config, type SettingKey, settingKeys, settingOf } from './config/table.ts';

export type { Config } from './config/table.ts';

/** The value of one setting and its origin. */
export interface SettingInForce {
  readonly key: SettingKey;
  readonly value: unknown;
  /** The value as text. `hidden` for a secret from a variable; the effect of its absence for an absent value. */
  readonly shown: string;
  readonly origin: Origin;
}

/** The validated settings of one read of all sources. */
export interface LoadedConfig {
  readonly config: Config;
  /** One log line each. */
  readonly warnings: readonly string[];
  /** In the order of the table. */
  readonly inForce: readonly SettingInForce[];
}

/** The result of a reload. */
export interface ReloadedConfig extends LoadedConfig {
  /** Settings that have a new value in `config`. */
  readonly changed: readonly SettingKey[];
  /** Settings whose new value needs a restart. */
  readonly restartNeeded: readonly SettingKey[];
}

/** Settings that take effect on SIGHUP. Certificates are reloaded, too, but their paths stay the same. */
const RELOADED: readonly SettingKey[] = ['log.level', 'team-access.rate-limit', 'limits.rate-per-token'];

/** Returns the sources of settings of this process. */
export function processSources(flags: ReadonlyMap<string, string>, configFile: string | undefined): Sources {
  return {
    flags,
    configFile,
    environment: { ...process.env },
    host: { name: hostname(), isTerminal: process.stderr.isTTY },
  };
}

/**
 * Returns the environment variables of the command line's client, including the data directory with the first
 * credentials.
 */
export function clientEnvironment(): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries([...CLIENT_VARIABLES, 'ACCORD_DATA_DIR'].map((name) => [name, process.env[name]]));
}

/** Reads and validates all settings. @throws ConfigError for the first problem */
export async function loadConfig(sources: Sources): Promise<LoadedConfig> {
  const given = await gather(sources);
  return assemble(settingKeys.map((key) => resolve(key, given.get(key), sources.host)));
}

/**
 * Reads the same sources again and merges the settings that a running server can change into `current`.
 * @throws ConfigError when a source is invalid now; the caller then keeps `current`
 */
export async function reloadConfig(sources: Sources, current: LoadedConfig): Promise<ReloadedConfig> {
  const fresh = (await loadConfig(sources)).inForce;
  const differing = fresh.filter(({ shown }, i) => shown !== current.inForce[i]?.shown).map(({ key }) => key);
  const merged = assemble(current.inForce.map((row, i) => (RELOADED.includes(row.key) ? (fresh[i] ?? row) : row)));
  return {
    ...merged,
    changed: differing.filter((key) => RELOADED.includes(key)),
    restartNeeded: differing.filter((key) => !RELOADED.includes(key)),
  };
}

/** Parses a given value, or the default. */
function resolve(key: SettingKey, given: GivenValue | undefined, host: Host): SettingInForce {
  const setting = settingOf(key);
  const origin = given?.origin ?? { kind: 'default' };
  if (setting.presence === 'secret') return { key, origin, ...secretOf(key, given, setting.absentText) };
  let text = given?.text;
  if (text === undefined) {
    if (setting.presence === 'optional') return { key, value: undefined, shown: setting.absentText, origin };
    text = typeof setting.defaultText === 'string' ? setting.defaultText : setting.defaultText.of(host);
  }
  const value = setting.kind.parse(text);
  if (value === undefined) throw badValue(key, origin, text, setting.kind.wanted);
  return { key, value, shown: setting.kind.format(value), origin };
}

function secretOf(
  key: SettingKey,
  given: GivenValue | undefined,
  absent: string,
): Pick<SettingInForce, 'value' | 'shown'> {
  const { kind } = settingOf(key);
  if (given === undefined) return { value: undefined, shown: absent };
  if (given.isSecret && given.origin.kind === 'variable') {
    return { value: secretInVariable(kind, given.origin.name, given.text), shown: 'hidden' };
  }
  if (given.text === '') throw badValue(key, given.origin, given.text, 'the path of a file');
  return { value: secretInFile(kind, key, given.text), shown: given.text };
}

const badValue = (key: SettingKey, origin: Origin, shown: string, wanted: string): ConfigError =>
  new ConfigError(`${key} from ${describeOrigin(origin)} is ${quote(shown)}: want ${wanted}`);

/** Nests, cross-checks, and freezes the values. @throws ConfigError */
function assemble(inForce: readonly SettingInForce[]): LoadedConfig {
  const byKey = new Map(inForce.map((row) => [row.key, row]));
  const config = nest(inForce);
  const violation = firstViolation(config, (key) => byKey.get(key)?.origin.kind !== 'default');
  if (violation !== undefined) {
    const { origin, shown } = byKey.get(violation.key) ?? { origin: { kind: 'default' as const }, shown: '' };
    throw badValue(violation.key, origin, shown, violation.wanted);
  }
  return { config, warnings: warningsOf(config), inForce };
}

function nest(inForce: readonly SettingInForce[]): Config {
  const root: Record<string, unknown> = {};
  for (const { key, value } of inForce) {
    const path = propertyPath(key, settingOf(key));
    const [group, name] = path.length === 1 ? [root, path[0]] : [groupOf(root, path[0]), path[1]];
    if (name !== undefined) group[name] = deepFreeze(value);
  }
  for (const group of Object.values(root)) deepFreeze(group);
  // The type `ConfigOf` mirrors `propertyPath` and the kinds. Tests compare the two.
  return Object.freeze(root) as Config;
}

function groupOf(root: Record<string, unknown>, name = ''): Record<string, unknown> {
  root[name] ??= {};
  return root[name] as Record<string, unknown>;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
