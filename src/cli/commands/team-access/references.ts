/** How people name teams and workspaces: `acme/dev`, or by ID. */
import { CommandError } from '../../errors.ts';
import { type Api, apiPath, type Resource, relatedId } from './api.ts';

/** The attributes of a team that are shown. */
export interface TeamAttributes {
  readonly name: string;
  readonly description: string | null;
  readonly visibility: string;
  readonly 'users-count': number;
  readonly 'allow-member-token-management': boolean;
  readonly 'organization-access': Readonly<Record<string, boolean>>;
}

/** The attributes of a workspace that are shown. */
export interface WorkspaceAttributes {
  readonly name: string;
  readonly description: string | null;
  readonly 'created-at': string;
  readonly 'updated-at': string;
}

/** A team or a workspace as it was named. */
export type Reference = { readonly id: string } | Named;

interface Named {
  readonly organization: string;
  readonly name: string;
}

const PREFIXES = { team: 'team-', workspace: 'ws-' } as const;
type Kind = keyof typeof PREFIXES;

/** Whether it has the form of an ID. A name of that form stands behind its organization: `acme/team-…`. */
export const isId = (kind: Kind, text: string): boolean => new RegExp(`^${PREFIXES[kind]}[A-Za-z0-9]{16}$`).test(text);

/** @throws CommandError `usage` */
export function parseReference(kind: Kind, text: string): Reference {
  return isId(kind, text) ? { id: text } : parseNamed(kind, text, `, or an ID such as ${PREFIXES[kind]}…`);
}

/** `ORGANIZATION/NAME` alone, for what is not there yet. @throws CommandError `usage` */
export function parseNamed(kind: Kind, text: string, orElse = ''): Named {
  const [organization = '', name = '', ...more] = text.split('/');
  if (organization !== '' && name !== '' && more.length === 0) return { organization, name };
  throw new CommandError('usage', `${JSON.stringify(text)} names no ${kind}: want ORGANIZATION/NAME${orElse}`);
}

/** A team. @throws CommandError */
export async function findTeam(api: Api, text: string, include?: string): Promise<FoundTeam> {
  const reference = parseReference('team', text);
  const about = `team ${text}`;
  if ('id' in reference) {
    const path = apiPath('teams', reference.id);
    const { data, included = [] } = await api.read<Resource<TeamAttributes>>({
      method: 'GET',
      path,
      about,
      query: { include },
    });
    return { team: data, included };
  }
  const { organization, name } = reference;
  const { data, included = [] } = await api.readAll<Resource<TeamAttributes>>({
    path: apiPath('organizations', organization, 'teams'),
    about: `organization ${organization}`,
    query: { 'filter[names]': name, include },
  });
  // The filter takes several names, with commas between them: `acme/a,b` must not be taken for the first that is there.
  const wanted = name.toLowerCase();
  const team = data.find(({ attributes }) => attributes.name.toLowerCase() === wanted);
  if (team === undefined) throw new CommandError('refused', `${about}: not found, or you may not see it`);
  return { team, included };
}

/** A team with what was asked to come along. */
interface FoundTeam {
  readonly team: Resource<TeamAttributes>;
  readonly included: readonly Resource[];
}

/**
 * A team that is named beside its organization: by its name there, as `acme/dev`, or by ID, which is taken as it is: who
 * administers a workspace may name a secret team that they do not see.
 * @throws CommandError
 */
export async function teamIn(api: Api, organization: string, text: string): Promise<TeamIn> {
  if (isId('team', text)) return { id: text, attributes: {} };
  return (await findTeam(api, text.includes('/') ? text : `${organization}/${text}`)).team;
}

/** Without a name where nobody has asked for it. */
interface TeamIn {
  readonly id: string;
  readonly attributes: { readonly name?: string };
}

/** A workspace. @throws CommandError */
export async function findWorkspace(api: Api, text: string): Promise<FoundWorkspace> {
  const call = { method: 'GET', path: workspacePath(text), about: `workspace ${text}` } as const;
  const { data: workspace } = await api.read<Resource<WorkspaceAttributes>>(call);
  const organization = relatedId(workspace, 'organization');
  return { workspace, organization, fullName: `${organization}/${workspace.attributes.name}` };
}

/** A workspace with the name of its organization, and both as people name it. */
export interface FoundWorkspace {
  readonly workspace: Resource<WorkspaceAttributes>;
  readonly organization: string;
  readonly fullName: string;
}

/** Where a workspace is, by its name or its ID. @throws CommandError `usage` */
export function workspacePath(text: string): string {
  const reference = parseReference('workspace', text);
  if ('id' in reference) return apiPath('workspaces', reference.id);
  return apiPath('organizations', reference.organization, 'workspaces', reference.name);
}

/** The names of an organization's teams that the caller sees, by ID; none where its plan has no teams. @throws CommandError */
export async function teamNames(api: Api, organization: string): Promise<ReadonlyMap<string, string>> {
  const path = apiPath('organizations', organization, 'teams');
  try {
    const { data } = await api.readAll<Resource<TeamAttributes>>({ path, about: `organization ${organization}` });
    return new Map(data.map(({ id, attributes }) => [id, attributes.name]));
  } catch (error) {
    if (error instanceof CommandError && error.status === 404) return new Map();
    throw error;
  }
}
