/** `accord access …`: what somebody may really do, and why. */
import type { Command } from 'commander';
import { withApiConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { details, print, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import { type ApiOptions, apiPath, connectApi, type Resource } from './api.ts';
import { leafOf, REFERENCE_HELP } from './leaf.ts';
import { findWorkspace, teamIn, teamNames } from './references.ts';

interface ExplainOptions extends ApiOptions {
  readonly workspace: string;
  readonly user?: string;
  readonly team?: string;
}

/** What gives access. */
interface Source {
  readonly kind: 'owner' | 'organization-permission' | 'team-workspace';
  /** Its ID; absent for a token of the organization. */
  readonly team?: string;
  readonly permission?: string;
  /** Of the row. */
  readonly id?: string;
  /** When the row ends. */
  readonly 'expires-at'?: string;
}

type Effective = Resource<{
  readonly access: string | null;
  readonly explanation: readonly {
    readonly attribute: string;
    readonly value: string | boolean;
    readonly sources: readonly Source[];
  }[];
}>;

type MatrixRow = Resource<{
  /** The workspace's. */
  readonly name: string;
  readonly teams: readonly { readonly team: string; readonly access: string; readonly sources: readonly Source[] }[];
}>;

/** Adds the group. */
export function addAccessCommands(program: Command, shell: Shell): void {
  const group = program.command('access').description('what somebody may really do, and why');
  const leaf = leafOf(group);
  withApiConnection(
    leaf('explain', 'shows what somebody may do on a workspace, and for each attribute what gives it')
      .requiredOption('--workspace <workspace>', 'on which workspace')
      .option('--user <user>', 'who: a username or an ID')
      .option('--team <team>', 'or which team'),
  )
    .addHelpText('after', `\nYou, unless --user or --team says who.${REFERENCE_HELP}`)
    .action((options: ExplainOptions) => explain(shell, options));
  withApiConnection(leaf('matrix <organization>', 'shows which team may do what on which workspace, and why')).action(
    (organization: string, options: ApiOptions) => matrix(shell, organization, options),
  );
}

async function explain(shell: Shell, options: ExplainOptions): Promise<void> {
  const { user, team } = options;
  if (user !== undefined && team !== undefined) throw new CommandError('usage', 'give --user or --team, not both');
  const api = connectApi(shell, options);
  const { workspace, organization, fullName } = await findWorkspace(api, options.workspace);
  const who = user !== undefined ? `user ${user}` : team !== undefined ? `team ${team}` : 'you';
  const { data } = await api.read<Effective>({
    method: 'GET',
    path: apiPath('workspaces', workspace.id, 'effective-access'),
    about: `access of ${who} to workspace ${fullName}`,
    query: {
      'filter[user]': user,
      'filter[team]': team === undefined ? undefined : (await teamIn(api, organization, team)).id,
    },
  });
  const isForPeople = options.json !== true;
  const names = isForPeople ? await teamNames(api, organization) : new Map<string, string>();
  print(shell, options, data, ({ attributes: { access, explanation } }) => {
    const head: [string, string][] = [
      ['Who', who],
      ['Workspace', fullName],
      ['Access', access ?? 'none'],
    ];
    if (access === null) return details(head);
    const rows = explanation.flatMap(({ attribute, value, sources }) =>
      // In an order that does not depend on random IDs of teams.
      sources
        .map((source) => sourceWords(source, names))
        .toSorted()
        .map((words, i) => (i === 0 ? [attribute, String(value), words] : ['', '', words])),
    );
    return `${details(head)}\n${table(['ATTRIBUTE', 'VALUE', 'FROM'], rows)}`;
  });
}

async function matrix(shell: Shell, organization: string, options: ApiOptions): Promise<void> {
  const api = connectApi(shell, options);
  const path = apiPath('organizations', organization, 'access-matrix');
  const { data } = await api.readAll<MatrixRow>({ path, about: `organization ${organization}` });
  const names = options.json === true ? new Map<string, string>() : await teamNames(api, organization);
  print(shell, options, data, (rows) =>
    table(
      ['WORKSPACE', 'TEAM', 'ACCESS', 'FROM'],
      rows.flatMap(({ attributes: { name, teams } }) =>
        teams.map(({ team, access, sources }) => [
          name,
          names.get(team) ?? team,
          access,
          sources.map((source) => sourceWords(source, names)).join('; '),
        ]),
      ),
    ),
  );
}

/** @param names of teams, by ID; others are shown by their IDs */
function sourceWords(
  { kind, team, permission, id, 'expires-at': end }: Source,
  names: ReadonlyMap<string, string>,
): string {
  if (team === undefined) return 'the token of the organization, an owner';
  const name = `team ${names.get(team) ?? team}`;
  switch (kind) {
    case 'owner':
      return `${name}, who own the organization`;
    case 'organization-permission':
      return `permission ${permission} of ${name}`;
    case 'team-workspace':
      return `row ${id} of ${name}${end === undefined ? '' : `, until ${end}`}`;
  }
}
