/**
 * The file of `accord team-access apply`: for each workspace the complete set of teams with access, and what they have.
 *
 *     workspaces:
 *       acme/billing:
 *         platform: write          # a level alone
 *         review:                  # or everything
 *           access: custom
 *           runs: plan
 *       acme/archive: {}           # nobody
 *
 * With `compat: terraform` there are `sentinel-mocks` and `policy-overrides` besides: a set that left them out would take
 * them away.
 *
 * What the values mean is the server's to say. Here the shape is read, so that nothing that was meant is overlooked.
 */
import { type Document, isAlias, isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { CommandError } from '../../errors.ts';
import { printable } from '../../output/output.ts';
import { parseReference } from './references.ts';
import { SETTABLE, SETTABLE_WITH_TERRAFORM } from './row-attributes.ts';

/** The teams that should have access to a workspace, and no others. */
export interface WantedSet {
  /** As `findWorkspace` takes it. */
  readonly workspace: string;
  /** `access.yaml:3` */
  readonly at: string;
  readonly teams: readonly WantedTeam[];
}

export interface WantedTeam {
  /** A name or an ID. */
  readonly team: string;
  readonly at: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Where each attribute stands. */
  readonly attributesAt: ReadonlyMap<string, string>;
}

const ATTRIBUTES: readonly string[] = ['access', ...SETTABLE, ...SETTABLE_WITH_TERRAFORM, 'expires-at'];

/** @param name of the file, for messages @throws CommandError `usage`, with the line */
export function parseAccessFile(name: string, content: string): readonly WantedSet[] {
  const lineCounter = new LineCounter();
  const document = parseDocument(content, { lineCounter, prettyErrors: false });
  const place: Place = { document, at: (offset = 0) => `${name}:${lineCounter.linePos(offset).line}` };
  const fault = document.errors[0];
  if (fault !== undefined) refuse(place.at(fault.pos[0]), `this is not YAML: ${fault.message}`);
  const root = { key: '', value: document.contents, at: place.at() };
  const sets = entriesOf(place, root, '"workspaces:", and below it each workspace with its teams').flatMap((entry) => {
    requireKnown(entry, ['workspaces']);
    return entriesOf(place, entry, 'workspaces, such as acme/billing, each with its teams');
  });
  if (sets.length === 0) refuse(root.at, 'no workspace is named');
  return sets.map((entry) => readSet(place, entry));
}

function readSet(place: Place, entry: Entry): WantedSet {
  const { key: workspace, at } = entry;
  try {
    parseReference('workspace', workspace);
  } catch (error) {
    refuse(at, (error as Error).message);
  }
  // A workspace without anything may be a slip, and would take everybody's access away: nobody is said.
  const teams = entriesOf(place, entry, 'teams with their access, or {} for nobody');
  return { workspace, at, teams: teams.map((team) => readTeam(place, team)) };
}

function readTeam(place: Place, entry: Entry): WantedTeam {
  const { key: team, value, at } = entry;
  if (team.includes('/')) refuse(at, `${JSON.stringify(team)} is no team: want its name alone, or its ID`);
  if (isScalar(value) && typeof value.value === 'string') {
    return { team, at, attributes: { access: value.value }, attributesAt: new Map([['access', at]]) };
  }
  const attributes: Record<string, unknown> = {};
  const attributesAt = new Map<string, string>();
  for (const given of entriesOf(place, entry, `a level such as write, or ${ATTRIBUTES.join(', ')}`)) {
    requireKnown(given, ATTRIBUTES);
    if (!isScalar(given.value)) refuse(given.at, `${given.key}: want one value`);
    attributes[given.key] = given.value.value;
    attributesAt.set(given.key, given.at);
  }
  return { team, at, attributes, attributesAt };
}

interface Place {
  readonly document: Document;
  /** `access.yaml:3`, from an offset in the text. */
  readonly at: (offset?: number) => string;
}

/** A key with its value, which is no alias any more. */
interface Entry {
  readonly key: string;
  readonly value: unknown;
  readonly at: string;
}

/** What the map that is the entry's value holds. @param wanted what it should be, for the message */
function entriesOf({ document, at }: Place, entry: Entry, wanted: string): readonly Entry[] {
  if (!isMap(entry.value)) refuse(entry.at, `want ${wanted}`);
  return entry.value.items.map(({ key, value }) => {
    if (!isScalar(key)) refuse(entry.at, `want ${wanted}`);
    // As it is written: a team may be called 1e3, or null.
    const text = typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
    const where = at(key.range?.[0]);
    const resolved = isAlias(value) ? value.resolve(document) : value;
    if (isAlias(value) && resolved === undefined) refuse(where, `there is no anchor &${value.source} before it`);
    return { key: text, value: resolved, at: where };
  });
}

function requireKnown({ key, at }: Entry, known: readonly string[]): void {
  if (!known.includes(key)) refuse(at, `${JSON.stringify(key)} is unknown here: want ${known.join(', ')}`);
}

function refuse(at: string, message: string): never {
  throw new CommandError('usage', `${at}: ${printable(message)}`);
}
