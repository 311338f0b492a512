/** Whose tokens a command is about: one's own, a team's or an organization's. */
import { CommandError } from '../../errors.ts';
import { type Api, type ApiOptions, apiPath, type Resource } from './api.ts';
import { findTeam } from './references.ts';

/** The options that say whose; neither: one's own. */
export interface OwnerOptions extends ApiOptions {
  readonly team?: string;
  readonly organization?: string;
}

/** A token. */
export type Token = Resource<{
  readonly 'created-at': string;
  readonly 'last-used-at': string | null;
  readonly description: string | null;
  readonly 'expired-at': string | null;
  /** In the answer to its creation only. */
  readonly token: string | null;
}>;

/** Where tokens of somebody are made. */
interface Owner {
  readonly path: string;
  /** `a token of team acme/dev` */
  readonly about: string;
  /** There is one at most, and making another revokes it. */
  readonly plain: boolean;
}

/** An organization has one token. */
export const organizationOwner = (organization: string): Owner => ({
  path: apiPath('organizations', organization, 'authentication-token'),
  about: `a token of organization ${organization}`,
  plain: true,
});

/** A team has one without a description, and any number with one; a user has any number. @throws CommandError */
export async function ownerOf(
  api: Api,
  { team, organization, description }: OwnerOptions & { readonly description?: string },
): Promise<Owner> {
  if (organization !== undefined) return organizationOwner(organization);
  if (team === undefined) {
    const path = apiPath('users', await ownUserId(api), 'authentication-tokens');
    return { path, about: 'your tokens', plain: false };
  }
  const { id } = (await findTeam(api, team)).team;
  const plain = description === undefined;
  const path = apiPath('teams', id, plain ? 'authentication-token' : 'authentication-tokens');
  return { path, about: `a token of team ${team}`, plain };
}

/** The one token; `undefined` where there is none, or the caller may not manage it. @throws CommandError */
export async function plainToken(api: Api, { path, about }: Owner): Promise<Token | undefined> {
  try {
    return (await api.read<Token>({ method: 'GET', path, about })).data;
  } catch (error) {
    if (error instanceof CommandError && error.status === 404) return undefined;
    throw error;
  }
}

/** @throws CommandError `usage` when the token in use is a team's or an organization's */
export async function ownUserId(api: Api): Promise<string> {
  const call = { method: 'GET', path: apiPath('account', 'details'), about: 'the account' } as const;
  const { data } = await api.read<Resource<{ readonly 'is-service-account': boolean }>>(call);
  if (!data.attributes['is-service-account']) return data.id;
  throw new CommandError('usage', "the token in use is not a user's: say whose with --team or --organization");
}

/** @throws CommandError `usage` */
export function refuseBoth({ team, organization }: OwnerOptions): void {
  if (team === undefined || organization === undefined) return;
  throw new CommandError('usage', 'give --team or --organization, not both');
}
