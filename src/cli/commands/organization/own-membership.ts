/** Finds memberships and invitations of the caller. */
import { type ApiClient, apiPath, type Resource, relatedId } from '../../client/api-client.ts';
import { CommandError } from '../../errors.ts';

export type OwnMembership = Resource<{ readonly email: string | null; readonly 'is-owner': boolean }>;

/** The status of the caller's memberships, or of the invitations that await acceptance. */
type OwnStatus = 'active' | 'invited';

export async function readOwnMemberships(api: ApiClient, status: OwnStatus): Promise<readonly OwnMembership[]> {
  const { data } = await api.readAll<OwnMembership>({
    path: apiPath('organization-memberships'),
    subject: 'your memberships',
    query: { 'filter[status]': status },
  });
  return data;
}

/** @throws CommandError if the caller has none in the organization */
export async function findOwnMembership(api: ApiClient, status: OwnStatus, name: string): Promise<OwnMembership> {
  const wanted = name.toLowerCase();
  const all = await readOwnMemberships(api, status);
  const found = all.find((one) => relatedId(one, 'organization').toLowerCase() === wanted);
  if (found !== undefined) return found;
  const what = status === 'active' ? 'you are not a member of' : 'you have no invitation to';
  throw new CommandError('failed', `${what} organization ${name}`);
}
