/** What rows give, as the API shows it and as people read it. */
import { details, table } from '../../output/output.ts';
import { type Resource, relatedId } from './api.ts';

/** The attributes that `custom` gives one by one, as they are set. */
export const SETTABLE = [
  'runs',
  'variables',
  'state-versions',
  'policy-mocks',
  'workspace-locking',
  'run-tasks',
] as const;

/** Those that a server with `compat: terraform` has besides. Others do not know them, and leave them aside in silence. */
export const SETTABLE_WITH_TERRAFORM = ['sentinel-mocks', 'policy-overrides'] as const;

/** The first of the attributes that were given which the server has left aside: its rows do not have it. */
export const unknownAmong = (given: Iterable<string>, shown: RowAttributes): string | undefined =>
  [...given].find((name) => SETTABLE_WITH_TERRAFORM.some((one) => one === name) && !Object.hasOwn(shown, name));

/** How that is told. */
export const unknownWords = (name: string): string =>
  `the server does not know ${name}: it is for servers with compat: terraform`;

/** Besides those of `SETTABLE` there may be others that a server has for other clients: they are shown, too. */
export interface RowAttributes extends Readonly<Record<string, string | boolean | undefined>> {
  readonly access: string;
  readonly 'expires-at'?: string;
}

/** A row. */
export type Row = Resource<RowAttributes>;

/** Rows with the teams and workspaces that the caller sees. */
export interface Rows {
  readonly rows: readonly Row[];
  readonly included: readonly Resource[];
}

/** A team, or a workspace with its organization. */
type NamedResource = Pick<Resource<{ readonly name?: unknown }>, 'id' | 'attributes'> &
  Partial<Pick<Resource, 'type' | 'relationships'>>;

/** What it gives in one line: `custom (runs plan, …)`, `write until 2030-01-31T00:00:00.000Z`. */
export function accessWords(attributes: RowAttributes): string {
  const { access, 'expires-at': end } = attributes;
  const custom = namesIn(attributes).map((name) => `${name} ${attributes[name]}`);
  return `${access}${access === 'custom' ? ` (${custom.join(', ')})` : ''}${end === undefined ? '' : ` until ${end}`}`;
}

/** A row by itself. */
export function describeRow({ attributes, ...row }: Row, included: readonly NamedResource[]): string {
  const names = namesOf(included);
  return details([
    ['ID', row.id],
    ['Workspace', names(relatedId(row, 'workspace'))],
    ['Team', names(relatedId(row, 'team'))],
    ['Access', attributes.access],
    ...namesIn(attributes).map((name): [string, string] => [labelOf(name), String(attributes[name])]),
    ['Expires', attributes['expires-at'] ?? 'never'],
  ]);
}

/** A line for each row. */
export function tabulateRows({ rows, included }: Rows): string {
  const names = namesOf(included);
  const columns = rows[0] === undefined ? [...SETTABLE] : namesIn(rows[0].attributes);
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

const namesIn = (attributes: RowAttributes): readonly string[] =>
  Object.keys(attributes).filter((name) => name !== 'access' && name !== 'expires-at');

const labelOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ');

/** How people name what is included, by ID; an ID that is not stands for itself. */
function namesOf(included: readonly NamedResource[]): (id: string) => string {
  const names = new Map(included.map((one) => [one.id, nameOf(one)]));
  return (id) => names.get(id) ?? id;
}

function nameOf({ type, attributes: { name }, relationships }: NamedResource): string | undefined {
  if (typeof name !== 'string') return undefined;
  return type === 'workspaces' && relationships !== undefined
    ? `${relatedId({ relationships }, 'organization')}/${name}`
    : name;
}
