/** Deleting what a command names. */

import { note, type Shell } from '../shell.ts';
import type { Call, Client } from './client.ts';

/**
 * Deletes what is at the path and says so. Deleting what is not there succeeds, as in the API; but it says that nothing
 * was there, since a mistyped name must not pass for a deletion.
 * @param what such as `token 1234`
 * @throws CommandError
 */
export async function removeNamed(
  shell: Shell,
  client: Client,
  at: Pick<Call, 'path' | 'query'>,
  what: string,
): Promise<void> {
  const { status } = await client.ask({ method: 'GET', ...at });
  await client.send({ method: 'DELETE', ...at });
  note(shell, status === 404 ? `There is no ${what}: nothing was deleted.` : `Deleted ${what}.`);
}
