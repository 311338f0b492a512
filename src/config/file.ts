/** The YAML file: nested maps and dotted keys both name settings. */
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
import type { Given } from './given-value.ts';
import { didYouMean } from './near-names.ts';
import { isSettingKey, type SettingKey, secretVariableOf, settingKeys, settingOf } from './table.ts';

const FILE_DEFAULT = './accord.yaml';

/** Far above any real file; a log given by mistake is not read into memory. */
const FILE_BYTES_MAX = 1024 * 1024;

/**
 * The settings in the file at `path`; in `./accord.yaml`, if it is there, when `path` is undefined.
 * @throws ConfigError when it cannot be read, is no YAML, or names what is no setting
 */
export async function readConfigFile(path: string | undefined): Promise<readonly Given[]> {
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

/** The settings in `content`, which messages call `name`. @throws ConfigError */
export function parseConfigFile(name: string, content: string): readonly Given[] {
  const lineCounter = new LineCounter();
  const document = parseDocument(content, { lineCounter, prettyErrors: false });
  const lineOf = (offset: number | undefined): number => (offset === undefined ? 1 : lineCounter.linePos(offset).line);
  const fault = document.errors[0];
  if (fault !== undefined) throw new ConfigError(`${name}:${lineOf(fault.pos[0])} is not YAML: ${fault.message}`);
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) return [];
  if (!isMap(root)) throw new ConfigError(`${name}:1: want settings, one "key: value" on each line`);
  const given = new Map<SettingKey, Given>();
  for (const entry of settingsIn({ name, document, lineOf }, root, '')) {
    const earlier = given.get(entry.key);
    if (earlier?.origin.kind === 'file') {
      throw new ConfigError(`${entry.key} stands in ${name} twice, on lines ${earlier.origin.line} and ${entry.line}`);
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

/** A secret written into the file is told where it belongs; its value is not repeated. */
function hint(key: string): string {
  const file = `${key}-file`;
  if (!isSettingKey(file)) return didYouMean(key, settingKeys);
  return `: a secret stands in a file that ${file} names, or in ${secretVariableOf(file)}`;
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

/** Numbers and booleans as they are written, so that every kind is read by one parser. */
function scalarText(node: { readonly value: unknown; readonly source?: string }): string {
  return (typeof node.value === 'string' ? node.value : (node.source ?? String(node.value))).trim();
}
