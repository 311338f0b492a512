import { type ApiClient, apiPath, type Resource } from '../../client/api-client.ts';

/**
 * Returns the path `/admin/users/ID` of a user, by username or ID. A text that is not a username may be an ID, also of a
 * deleted user.
 */
export async function pathOfUser(api: ApiClient, named: string): Promise<string> {
  const users = apiPath('admin', 'users');
  const { data } = await api.readAll<Resource<{ readonly username: string }>>({
    path: users,
    subject: `user ${named}`,
    query: { q: named },
  });
  const found = data.find(({ attributes }) => attributes.username.toLowerCase() === named.toLowerCase());
  return apiPath('admin', 'users', found?.id ?? named);
}
