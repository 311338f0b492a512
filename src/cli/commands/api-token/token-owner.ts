/** Resolves the owner of API tokens: the caller, a team, or an organization. */

import { type ApiClient, type ApiOptions, apiPath, type Resource } from '../../client/api-client.ts';
import { findTeam } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';

/** The options that name the owner. Without them, the caller is the owner. */
export interface OwnerOptions extends ApiOptions {
  readonly team?: string;
  readonly organization?: string;
}

export type Token = Resource<{
  readonly 'created-at': string;
  readonly 'last-used-at': string | null;
  readonly description: string | null;
  readonly 'expired-at': string | null;
  /** Only in the response to its creation. */
  readonly token: string | null;
}>;

/** An owner with the path at which its tokens are created. */
interface Owner {
  readonly path: string;
  /** `a token of team acme/dev` */
  readonly subject: string;
  /** Whether the owner has at most one token there, which a new one replaces. */
  readonly isSingle: boolean;
}

export const organizationOwner = (organization: string): Owner => ({
  path: apiPath('organizations', organization, 'authentication-token'),
  subject: `a token of organization ${organization}`,
  isSingle: true,
});

/**
 * Resolves the owner. A team has at most one token without a description. The number of other team tokens and of user
 * tokens is not limited. @throws CommandError
 */
export async function resolveOwner(
  api: ApiClient,
  { team, organization, description }: OwnerOptions & { readonly description?: string },
): Promise<Owner> {
  if (organization !== undefined) return organizationOwner(organization);
  if (team === undefined) {
    const path = apiPath('users', await readOwnUserId(api), 'authentication-tokens');
    return { path, subject: 'your tokens', isSingle: false };
  }
  const { id } = (await findTeam(api, team)).team;
  const isSingle = description === undefined;
  const path = apiPath('teams', id, isSingle ? 'authentication-token' : 'authentication-tokens');
  return { path, subject: `a token of team ${team}`, isSingle };
}

/** Reads the only token; `undefined` if it does not exist or the caller may not manage it. @throws CommandError */
export async function readSingleToken(api: ApiClient, { path, subject }: Owner): Promise<Token | undefined> {
  try {
    return (await api.read<Token>({ method: 'GET', path, subject })).data;
  } catch (error) {
    if (error instanceof CommandError && error.status === 404) return undefined;
    throw error;
  }
}

/** Reads the ID of the user who calls. @throws CommandError `usage` if a team or an organization calls */
export async function readOwnUserId(api: ApiClient): Promise<string> {
  const call = { method: 'GET', path: apiPath('account', 'details'), subject: 'the account' } as const;
  const { data } = await api.read<Resource<{ readonly 'is-service-account': boolean }>>(call);
  if (!data.attributes['is-service-account']) return data.id;
  throw new CommandError('usage', 'the token does not belong to a user: give --team or --organization');
}

/** Rejects `--team` together with `--organization`. @throws CommandError `usage` */
export function rejectBothOwners({ team, organization }: OwnerOptions): void {
  if (team === undefined || organization === undefined) return;
  throw new CommandError('usage', 'give --team or --organization, not both');
}
