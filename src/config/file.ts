/** Reads the YAML settings file. Nested maps and dotted keys name the same settings. */
import { readFile, stat } from 'node:fs/promises';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import { ConfigError, quote } from './error.ts';
import type { GivenValue } from './given-value.ts';
import { didYouMean } from './nearest-name.ts';
import { isSettingKey, type SettingKey, secretVariableOf, settingKeys, settingOf } from './table.ts';

const FILE_DEFAULT = './accord.yaml';

/** Largest settings file, far above any real one, so that a wrong path does not read a large file into memory. */
const FILE_BYTES_MAX = 1024 * 1024;

/**
 * Reads the file at `path`, or `./accord.yaml` if `path` is undefined and the file exists.
 * @throws ConfigError when the file is unreadable, is not YAML, or contains an unknown key
 */
export async function readConfigFile(path: string | undefined): Promise<readonly GivenValue[]> {
  const name = path ?? FILE_DEFAULT;
  let content: string;
  try {
    const { size } = await stat(name);
    if (size > FILE_BYTES_MAX) throw new Error(`it has ${size} bytes, want at most ${FILE_BYTES_MAX}`);
    content = await readFile(name, 'utf8');
  } catch (error) {
    if (path === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new ConfigError(`cannot read the settings file ${name}: ${(error as Error).message}`, { cause: error });
  }
  return parseConfigFile(name, content);
}

/** Parses the settings in `content`. Messages refer to the file as `name`. @throws ConfigError */
export function parseConfigFile(name: string, content: string): readonly GivenValue[] {
  const lineCounter = new LineCounter();
  const document = parseDocument(content, { lineCounter, prettyErrors: false });
  const lineOf = (offset: number | undefined): number => (offset === undefined ? 1 : lineCounter.linePos(offset).line);
  const fault = document.errors[0];
  if (fault !== undefined) throw new ConfigError(`${name}:${lineOf(fault.pos[0])} is not YAML: ${fault.message}`);
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) return [];
  if (!isMap(root)) throw new ConfigError(`${name}:1: want settings, one "key: value" on each line`);
  const given = new Map<SettingKey, GivenValue>();
  for (const entry of settingsIn({ name, document, lineOf }, root, '')) {
    const earlier = given.get(entry.key);
    if (earlier?.origin.kind === 'file') {
      throw new ConfigError(`${entry.key} is in ${name} twice, on lines ${earlier.origin.line} and ${entry.line}`);
    }
    given.set(entry.key, { ...entry, isSecret: false, origin: { kind: 'file', path: name, line: entry.line } });
  }
  return [...given.values()];
}

interface Place {
  readonly name: string;
  readonly document: Document;
  readonly lineOf: (offset: number | undefined) => number;
}

interface Entry {
  readonly key: SettingKey;
  readonly text: string;
  readonly line: number;
}

function* settingsIn(place: Place, map: YAMLMap, prefix: string): Generator<Entry> {
  for (const { key: keyNode, value } of map.items) {
    const key = prefix + (isScalar(keyNode) ? String(keyNode.value) : '?');
    const line = place.lineOf(isScalar(keyNode) ? keyNode.range?.[0] : undefined);
    const node = isAlias(value) ? value.resolve(place.document) : (value as Node | null);
    if (isSettingKey(key)) {
      yield { key, line, text: textOf(place, key, line, node) };
    } else if (settingKeys.some((known) => known.startsWith(`${key}.`)) && (isMap(node) || isEmpty(node))) {
      if (isMap(node)) yield* settingsIn(place, node, `${key}.`);
    } else {
      throw new ConfigError(`${place.name}:${line}: there is no setting ${quote(key)}${hint(key)}`);
    }
  }
}

const isEmpty = (node: unknown): boolean =>
  node === null || node === undefined || (isScalar(node) && node.value === null);

/** Suggests a setting, or where to put a secret that was written into the file. Never quotes the secret. */
function hint(key: string): string {
  const file = `${key}-file`;
  if (!isSettingKey(file)) return didYouMean(key, settingKeys);
  return `: a secret belongs in the file that ${file} names, or in ${secretVariableOf(file)}`;
}

function textOf(place: Place, key: SettingKey, line: number, node: unknown): string {
  if (isScalar(node) && !isEmpty(node)) return scalarText(node);
  const setting = settingOf(key);
  const isList = setting.presence !== 'secret' && setting.kind.isList === true;
  if (isSeq(node) && isList && node.items.every((item) => isScalar(item) && !isEmpty(item))) {
    return node.items.map((item) => (isScalar(item) ? scalarText(item) : '')).join(',');
  }
  const found = isEmpty(node) ? 'has no value' : isSeq(node) ? 'is a sequence' : 'is a map';
  const wanted = setting.presence === 'secret' ? 'the path of a file' : setting.kind.wanted;
  throw new ConfigError(`${key} from ${place.name}:${line} ${found}: want ${wanted}`);
}

/** Returns numbers and booleans as written, so that each kind needs one parser. */
function scalarText(node: { readonly value: unknown; readonly source?: string }): string {
  return (typeof node.value === 'string' ? node.value : (node.source ?? String(node.value))).trim();
}
