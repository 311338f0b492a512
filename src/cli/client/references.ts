/** Resolves references to teams and workspaces: `ORGANIZATION/NAME`, such as `acme/dev`, or an ID. */
import { CommandError } from '../errors.ts';
import { type ApiClient, apiPath, type Resource, relatedId } from './api-client.ts';

export interface TeamAttributes {
  readonly name: string;
  readonly description: string | null;
  readonly visibility: string;
  readonly 'users-count': number;
  readonly 'allow-member-token-management': boolean;
  readonly 'organization-access': Readonly<Record<string, boolean>>;
}

export interface WorkspaceAttributes {
  readonly name: string;
  readonly description: string | null;
  readonly 'created-at': string;
  readonly 'updated-at': string;
}

export type Reference = { readonly id: string } | QualifiedName;

interface QualifiedName {
  readonly organization: string;
  readonly name: string;
}

const PREFIXES = { team: 'team-', workspace: 'ws-' } as const;
type Kind = keyof typeof PREFIXES;

/** Whether the text has the form of an ID. A name of that form needs its organization: `acme/team-…`. */
export const isId = (kind: Kind, text: string): boolean => new RegExp(`^${PREFIXES[kind]}[A-Za-z0-9]{16}$`).test(text);

/** Parses `ORGANIZATION/NAME` or an ID. @throws CommandError `usage` */
export function parseReference(kind: Kind, text: string): Reference {
  return isId(kind, text) ? { id: text } : parseQualifiedName(kind, text, `, or an ID such as ${PREFIXES[kind]}…`);
}

/** Parses `ORGANIZATION/NAME`, which names a resource that may not exist yet. @throws CommandError `usage` */
export function parseQualifiedName(kind: Kind, text: string, orElse = ''): QualifiedName {
  const [organization = '', name = '', ...more] = text.split('/');
  if (organization !== '' && name !== '' && more.length === 0) return { organization, name };
  throw new CommandError('usage', `invalid ${kind} ${JSON.stringify(text)}: want ORGANIZATION/NAME${orElse}`);
}

/** Finds a team. @throws CommandError */
export async function findTeam(api: ApiClient, text: string, include?: string): Promise<FoundTeam> {
  const reference = parseReference('team', text);
  const subject = `team ${text}`;
  if ('id' in reference) {
    const path = apiPath('teams', reference.id);
    const { data, included = [] } = await api.read<Resource<TeamAttributes>>({
      method: 'GET',
      path,
      subject,
      query: { include },
    });
    return { team: data, included };
  }
  const { organization, name } = reference;
  const { data, included = [] } = await api.readAll<Resource<TeamAttributes>>({
    path: apiPath('organizations', organization, 'teams'),
    subject: `organization ${organization}`,
    query: { 'filter[names]': name, include },
  });
  // The filter accepts several names, separated by commas, so `acme/a,b` would otherwise match team `a`.
  const wanted = name.toLowerCase();
  const team = data.find(({ attributes }) => attributes.name.toLowerCase() === wanted);
  if (team === undefined) throw new CommandError('failed', `${subject}: not found, or you may not see it`);
  return { team, included };
}

interface FoundTeam {
  readonly team: Resource<TeamAttributes>;
  readonly included: readonly Resource[];
}

/**
 * Finds a team of an organization by its name, `ORGANIZATION/NAME`, or ID. An ID is not looked up, because a workspace
 * administrator may name a secret team that they cannot see.
 * @throws CommandError
 */
export async function findTeamInOrganization(
  api: ApiClient,
  organization: string,
  text: string,
): Promise<TeamIdentity> {
  if (isId('team', text)) return { id: text, attributes: {} };
  return (await findTeam(api, text.includes('/') ? text : `${organization}/${text}`)).team;
}

/** A team whose name is known only if the team was looked up. */
interface TeamIdentity {
  readonly id: string;
  readonly attributes: { readonly name?: string };
}

/** Finds a workspace. @throws CommandError */
export async function findWorkspace(api: ApiClient, text: string): Promise<FoundWorkspace> {
  const call = { method: 'GET', path: workspacePath(text), subject: `workspace ${text}` } as const;
  const { data: workspace } = await api.read<Resource<WorkspaceAttributes>>(call);
  const organization = relatedId(workspace, 'organization');
  return { workspace, organization, fullName: `${organization}/${workspace.attributes.name}` };
}

export interface FoundWorkspace {
  readonly workspace: Resource<WorkspaceAttributes>;
  readonly organization: string;
  /** `ORGANIZATION/NAME` */
  readonly fullName: string;
}

/** Returns the path of a workspace. @throws CommandError `usage` */
export function workspacePath(text: string): string {
  const reference = parseReference('workspace', text);
  if ('id' in reference) return apiPath('workspaces', reference.id);
  return apiPath('organizations', reference.organization, 'workspaces', reference.name);
}

/** Reads the names of an organization's visible teams by ID. A plan without teams has none. @throws CommandError */
export async function readTeamNames(api: ApiClient, organization: string): Promise<ReadonlyMap<string, string>> {
  const path = apiPath('organizations', organization, 'teams');
  try {
    const { data } = await api.readAll<Resource<TeamAttributes>>({ path, subject: `organization ${organization}` });
    return new Map(data.map(({ id, attributes }) => [id, attributes.name]));
  } catch (error) {
    if (error instanceof CommandError && error.status === 404) return new Map();
    throw error;
  }
}
