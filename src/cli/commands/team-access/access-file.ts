/**
 * Parses the file of `accord team-access apply`: the complete set of team access of each workspace.
 *
 *     workspaces:
 *       acme/billing:
 *         platform: write          # only a level
 *         review:                  # or attributes
 *           access: custom
 *           runs: plan
 *       acme/archive: {}           # no team
 *
 * With `compat: terraform` there are two more attributes, `sentinel-mocks` and `policy-overrides`. A set that omits
 * them resets them.
 *
 * Checks the structure and the names of attributes, because the API ignores unknown attributes. The server checks the
 * values.
 */
import { type Document, isAlias, isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { parseReference } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';
import { printable } from '../../output/output.ts';
import { CUSTOM_ATTRIBUTES, TERRAFORM_ATTRIBUTES } from './row-attributes.ts';

export interface DesiredSet {
  /** A reference for `findWorkspace`. */
  readonly workspace: string;
  /** `access.yaml:3` */
  readonly at: string;
  readonly teams: readonly DesiredTeam[];
}

export interface DesiredTeam {
  /** A name or an ID. */
  readonly team: string;
  readonly at: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly attributesAt: ReadonlyMap<string, string>;
}

const ATTRIBUTES: readonly string[] = ['access', ...CUSTOM_ATTRIBUTES, ...TERRAFORM_ATTRIBUTES, 'expires-at'];

/** Parses the file. @param name the file name for messages @throws CommandError `usage` with the line */
export function parseAccessFile(name: string, content: string): readonly DesiredSet[] {
  const lineCounter = new LineCounter();
  const document = parseDocument(content, { lineCounter, prettyErrors: false });
  const source: SourceText = { document, at: (offset = 0) => `${name}:${lineCounter.linePos(offset).line}` };
  const syntaxError = document.errors[0];
  if (syntaxError !== undefined) {
    reject(source.at(syntaxError.pos[0]), `invalid YAML: ${syntaxError.message}`);
  }
  const root = { key: '', value: document.contents, at: source.at() };
  const sets = entriesOf(source, root, '"workspaces:", followed by workspaces with their teams').flatMap((entry) => {
    requireKnown(entry, ['workspaces']);
    return entriesOf(source, entry, 'workspaces, such as acme/billing, with their teams');
  });
  if (sets.length === 0) reject(root.at, 'the file names no workspace');
  return sets.map((entry) => readSet(source, entry));
}

function readSet(source: SourceText, entry: Entry): DesiredSet {
  const { key: workspace, at } = entry;
  try {
    parseReference('workspace', workspace);
  } catch (error) {
    reject(at, (error as Error).message);
  }
  // An empty value may be a mistake, and would remove all access. An empty set must be written as {}.
  const teams = entriesOf(source, entry, 'teams with their access, or {} for no team');
  return { workspace, at, teams: teams.map((team) => readTeam(source, team)) };
}

function readTeam(source: SourceText, entry: Entry): DesiredTeam {
  const { key: team, value, at } = entry;
  if (team.includes('/'))
    reject(at, `invalid team ${JSON.stringify(team)}: want a name without the organization, or an ID`);
  if (isScalar(value) && typeof value.value === 'string') {
    return { team, at, attributes: { access: value.value }, attributesAt: new Map([['access', at]]) };
  }
  const attributes: Record<string, unknown> = {};
  const attributesAt = new Map<string, string>();
  for (const given of entriesOf(source, entry, `a level such as write, or ${ATTRIBUTES.join(', ')}`)) {
    requireKnown(given, ATTRIBUTES);
    if (!isScalar(given.value)) reject(given.at, `${given.key}: want one value`);
    attributes[given.key] = given.value.value;
    attributesAt.set(given.key, given.at);
  }
  return { team, at, attributes, attributesAt };
}

interface SourceText {
  readonly document: Document;
  /** `access.yaml:3`, from an offset in the text. */
  readonly at: (offset?: number) => string;
}

/** A key with its value. Aliases are resolved. */
interface Entry {
  readonly key: string;
  readonly value: unknown;
  readonly at: string;
}

/** Returns the entries of the map in `entry`. @param wanted the expected content, for the message */
function entriesOf({ document, at }: SourceText, entry: Entry, wanted: string): readonly Entry[] {
  if (!isMap(entry.value)) reject(entry.at, `want ${wanted}`);
  return entry.value.items.map(({ key, value }) => {
    if (!isScalar(key)) reject(entry.at, `want ${wanted}`);
    // The source text, because a team may be named 1e3 or null.
    const text = typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
    const where = at(key.range?.[0]);
    const resolved = isAlias(value) ? value.resolve(document) : value;
    if (isAlias(value) && resolved === undefined) reject(where, `undefined anchor &${value.source}`);
    return { key: text, value: resolved, at: where };
  });
}

function requireKnown({ key, at }: Entry, known: readonly string[]): void {
  if (!known.includes(key)) reject(at, `unknown key ${JSON.stringify(key)}: want ${known.join(', ')}`);
}

function reject(at: string, message: string): never {
  throw new CommandError('usage', `${at}: ${printable(message)}`);
}
