/**
 * The settings of the server. The table is in `config/table.ts`; this file makes one frozen object of what was given.
 *
 * Flag beats variable beats file beats default. Whatever is unknown, bad, or makes no sense beside another stops the
 * start: a setting that is silently ignored is found out in the worst hour. Only `main.ts` and `bin/` import this part.
 */
import { hostname } from 'node:os';
import { ConfigError, describeOrigin, type Origin, quote } from './config/error.ts';
import { CLIENT_VARIABLES, gather, type Sources } from './config/given.ts';
import type { Given } from './config/given-value.ts';
import { complaintAbout, warningsOf } from './config/rules.ts';
import { secretInFile, secretInVariable } from './config/secrets.ts';
import { type Host, propertyPath } from './config/setting.ts';
import { type Config, type SettingKey, settingKeys, settingOf } from './config/table.ts';

export type { Config } from './config/table.ts';

/** A setting in force. */
export interface SettingInForce {
  readonly key: SettingKey;
  readonly value: unknown;
  /** As an operator would write it; a secret from a variable is `hidden`, an absent value tells what holds instead. */
  readonly shown: string;
  readonly origin: Origin;
}

/** The result of reading all sources once. */
export interface LoadedConfig {
  readonly config: Config;
  /** For the log, one line each. */
  readonly warnings: readonly string[];
  /** In the order of the table. */
  readonly inForce: readonly SettingInForce[];
}

/** What reading the sources again found. */
export interface ReloadedConfig extends LoadedConfig {
  /** Settings that have a new value in `config`. */
  readonly changed: readonly SettingKey[];
  /** Settings whose new value is left aside until the server starts again. */
  readonly restartNeeded: readonly SettingKey[];
}

/** Settings that take effect on SIGHUP. Certificates are read again too, but their settings are paths that stay. */
const RELOADED: readonly SettingKey[] = ['log.level', 'team-access.rate-limit'];

/** The sources of the settings of this process. Logs are written to standard error. */
export function processSources(flags: ReadonlyMap<string, string>, configFile: string | undefined): Sources {
  return {
    flags,
    configFile,
    environment: { ...process.env },
    host: { name: hostname(), isTerminal: process.stderr.isTTY },
  };
}

/** The variables that the command line's client reads, and the data folder, where it finds the first credentials. */
export function clientEnvironment(): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries([...CLIENT_VARIABLES, 'ACCORD_DATA_DIR'].map((name) => [name, process.env[name]]));
}

/** Reads and checks all settings. @throws ConfigError for the first thing that is wrong */
export async function loadConfig(sources: Sources): Promise<LoadedConfig> {
  const given = await gather(sources);
  return assemble(settingKeys.map((key) => resolve(key, given.get(key), sources.host)));
}

/**
 * Reads the same sources again.
 * @param current what is in force, and stays so where a running server cannot change it
 * @throws ConfigError when the sources do not make sense any more: `current` goes on then
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

/** One setting's value, from what was given or from its default. */
function resolve(key: SettingKey, given: Given | undefined, host: Host): SettingInForce {
  const setting = settingOf(key);
  const origin = given?.origin ?? { kind: 'default' };
  if (setting.presence === 'secret') return { key, origin, ...secretOf(key, given, setting.shown) };
  let text = given?.text;
  if (text === undefined) {
    if (setting.presence === 'optional') return { key, value: undefined, shown: setting.shown, origin };
    text = typeof setting.defaultText === 'string' ? setting.defaultText : setting.defaultText.of(host);
  }
  const value = setting.kind.parse(text);
  if (value === undefined) throw badValue(key, origin, text, setting.kind.wanted);
  return { key, value, shown: setting.kind.format(value), origin };
}

function secretOf(key: SettingKey, given: Given | undefined, absent: string): Pick<SettingInForce, 'value' | 'shown'> {
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

/** Nests the values, checks them beside one another and freezes them. @throws ConfigError */
function assemble(inForce: readonly SettingInForce[]): LoadedConfig {
  const byKey = new Map(inForce.map((row) => [row.key, row]));
  const config = nest(inForce);
  const complaint = complaintAbout(config, (key) => byKey.get(key)?.origin.kind !== 'default');
  if (complaint !== undefined) {
    const { origin, shown } = byKey.get(complaint.key) ?? { origin: { kind: 'default' as const }, shown: '' };
    throw badValue(complaint.key, origin, shown, complaint.wanted);
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
  // `ConfigOf` follows the same two rules, `propertyPath` and the kinds, type by type; the tests hold them together.
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
