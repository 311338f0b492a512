/** The attributes of team access in the API JSON, and the text printed from them. */

import { type Resource, relatedId } from '../../client/api-client.ts';
import { details, table } from '../../output/output.ts';

/** The attributes that can be set with access level `custom`. */
export const CUSTOM_ATTRIBUTES = [
  'runs',
  'variables',
  'state-versions',
  'policy-mocks',
  'workspace-locking',
  'run-tasks',
] as const;

/** Additional attributes of servers with `compat: terraform`. Other servers silently ignore them. */
export const TERRAFORM_ATTRIBUTES = ['sentinel-mocks', 'policy-overrides'] as const;

/** Returns the first of the given attributes that the server ignored. The returned row does not contain it. */
export const firstIgnored = (given: Iterable<string>, shown: RowAttributes): string | undefined =>
  [...given].find((name) => TERRAFORM_ATTRIBUTES.some((one) => one === name) && !Object.hasOwn(shown, name));

export const ignoredMessage = (name: string): string =>
  `the server does not support ${name}, which requires compat: terraform`;

/** The attributes of a row. Attributes that this client does not know are printed as well. */
export interface RowAttributes extends Readonly<Record<string, string | boolean | undefined>> {
  readonly access: string;
  readonly 'expires-at'?: string;
  /** The level that the row returns to at `expires-at`. */
  readonly 'base-access'?: string;
}

/** The access of one team to one workspace. */
export type Row = Resource<RowAttributes>;

/** Rows with the teams and workspaces that the caller can see. */
export interface Rows {
  readonly rows: readonly Row[];
  readonly included: readonly Resource[];
}

/** A team, or a workspace with its organization. */
type NamedResource = Pick<Resource<{ readonly name?: unknown }>, 'id' | 'attributes'> &
  Partial<Pick<Resource, 'type' | 'relationships'>>;

/** Formats access in one line: `custom (runs plan, …)`, `write until 2030-01-31T00:00:00.000Z`. */
export function describeAccess(attributes: RowAttributes): string {
  const { access, 'expires-at': end } = attributes;
  const custom = attributeNames(attributes).map((name) => `${name} ${attributes[name]}`);
  return `${access}${access === 'custom' ? ` (${custom.join(', ')})` : ''}${end === undefined ? '' : ` until ${end}`}`;
}

export function describeRow({ attributes, ...row }: Row, included: readonly NamedResource[]): string {
  const names = nameLookup(included);
  return details([
    ['ID', row.id],
    ['Workspace', names(relatedId(row, 'workspace'))],
    ['Team', names(relatedId(row, 'team'))],
    ['Access', attributes.access],
    ...attributeNames(attributes).map((name): [string, string] => [labelOf(name), String(attributes[name])]),
    ['Expires', attributes['expires-at'] ?? 'never'],
    ['Then', attributes['base-access']],
  ]);
}

export function tabulateRows({ rows, included }: Rows): string {
  const names = nameLookup(included);
  const columns = rows[0] === undefined ? [...CUSTOM_ATTRIBUTES] : attributeNames(rows[0].attributes);
  return table(
    ['WORKSPACE', 'TEAM', 'ACCESS', ...columns.map((name) => labelOf(name).toUpperCase()), 'EXPIRES', 'ID'],
    rows.map(({ attributes, ...row }) => [
      names(relatedId(row, 'workspace')),
      names(relatedId(row, 'team')),
      attributes.access,
      ...columns.map((name) => String(attributes[name])),
      attributes['expires-at'] ?? 'never',
      row.id,
    ]),
  );
}

const attributeNames = (attributes: RowAttributes): readonly string[] =>
  Object.keys(attributes).filter((name) => !OTHER_ATTRIBUTES.has(name));

const OTHER_ATTRIBUTES: ReadonlySet<string> = new Set(['access', 'expires-at', 'base-access']);

const labelOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ');

/** Returns a function that maps the ID of an included resource to its name, and any other ID to itself. */
function nameLookup(included: readonly NamedResource[]): (id: string) => string {
  const names = new Map(included.map((one) => [one.id, nameOf(one)]));
  return (id) => names.get(id) ?? id;
}

function nameOf({ type, attributes: { name }, relationships }: NamedResource): string | undefined {
  if (typeof name !== 'string') return undefined;
  return type === 'workspaces' && relationships !== undefined
    ? `${relatedId({ relationships }, 'organization')}/${name}`
    : name;
}
