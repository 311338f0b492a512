/** `accord access`: effective access and its sources. */
import type { Command } from 'commander';
import { type ApiOptions, apiPath, connectApi, type Resource } from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { findTeamInOrganization, findWorkspace, readTeamNames } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';
import { details, print, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import { REFERENCE_HELP, subcommandsOf } from '../subcommand.ts';

interface ExplainOptions extends ApiOptions {
  readonly workspace: string;
  readonly user?: string;
  readonly team?: string;
}

interface Source {
  readonly kind: 'owner' | 'organization-permission' | 'team-workspace';
  /** The team's ID. Missing for the organization token. */
  readonly team?: string;
  readonly permission?: string;
  /** The ID of the team access. */
  readonly id?: string;
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
  readonly name: string;
  readonly teams: readonly { readonly team: string; readonly access: string; readonly sources: readonly Source[] }[];
}>;

export function addAccessCommands(program: Command, shell: Shell): void {
  const group = program.command('access').description('Show effective access and its sources');
  const subcommand = subcommandsOf(group);
  withApiConnection(
    subcommand(
      'explain',
      'Show the effective access of a user or team to a workspace, with the sources of each attribute',
    )
      .requiredOption('--workspace <workspace>', 'workspace')
      .option('--user <user>', 'username or ID of the user (default: you)')
      .option('--team <team>', 'team, instead of a user'),
  )
    .addHelpText('after', `${REFERENCE_HELP}\n\nExample:\n  accord access explain --workspace acme/billing --user ada`)
    .action((options: ExplainOptions) => explain(shell, options));
  withApiConnection(
    subcommand('matrix <organization>', 'Show the effective access of every team to every workspace, with its sources'),
  ).action((organization: string, options: ApiOptions) => matrix(shell, organization, options));
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
    subject: `access of ${who} to workspace ${fullName}`,
    query: {
      'filter[user]': user,
      'filter[team]': team === undefined ? undefined : (await findTeamInOrganization(api, organization, team)).id,
    },
  });
  const isForPeople = options.json !== true;
  const names = isForPeople ? await readTeamNames(api, organization) : new Map<string, string>();
  print(shell, options, data, ({ attributes: { access, explanation } }) => {
    const head: [string, string][] = [
      ['Who', who],
      ['Workspace', fullName],
      ['Access', access ?? 'none'],
    ];
    if (access === null) return details(head);
    const rows = explanation.flatMap(({ attribute, value, sources }) =>
      // Sorted, because the API's order depends on random team IDs.
      sources
        .map((source) => describeSource(source, names))
        .toSorted()
        .map((words, i) => (i === 0 ? [attribute, String(value), words] : ['', '', words])),
    );
    return `${details(head)}\n${table(['ATTRIBUTE', 'VALUE', 'FROM'], rows)}`;
  });
}

async function matrix(shell: Shell, organization: string, options: ApiOptions): Promise<void> {
  const api = connectApi(shell, options);
  const path = apiPath('organizations', organization, 'access-matrix');
  const { data } = await api.readAll<MatrixRow>({ path, subject: `organization ${organization}` });
  const names = options.json === true ? new Map<string, string>() : await readTeamNames(api, organization);
  print(shell, options, data, (rows) =>
    table(
      ['WORKSPACE', 'TEAM', 'ACCESS', 'FROM'],
      rows.flatMap(({ attributes: { name, teams } }) =>
        teams.map(({ team, access, sources }) => [
          name,
          names.get(team) ?? team,
          access,
          sources.map((source) => describeSource(source, names)).join('; '),
        ]),
      ),
    ),
  );
}

/** Formats a source. @param names team names by ID; a team without a name is shown by its ID */
function describeSource(
  { kind, team, permission, id, 'expires-at': end }: Source,
  names: ReadonlyMap<string, string>,
): string {
  if (team === undefined) return 'organization token, an owner';
  const name = `team ${names.get(team) ?? team}`;
  switch (kind) {
    case 'owner':
      return `${name}, an owner of the organization`;
    case 'organization-permission':
      return `permission ${permission} of ${name}`;
    case 'team-workspace':
      return `team access ${id} of ${name}${end === undefined ? '' : `, until ${end}`}`;
  }
}
