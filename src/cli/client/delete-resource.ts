import { note, type Shell } from '../shell.ts';
import type { Client, ClientRequest } from './client.ts';

/**
 * Deletes a resource and reports it. Deleting a missing resource succeeds, as in the API, but the message differs so
 * that a mistyped name is noticed.
 * @param what the resource for the message, such as `token 1234`
 * @throws CommandError
 */
export async function deleteResource(
  shell: Shell,
  client: Client,
  at: Pick<ClientRequest, 'path' | 'query'>,
  what: string,
): Promise<void> {
  const { status } = await client.request({ method: 'GET', ...at });
  await client.send({ method: 'DELETE', ...at });
  note(shell, status === 404 ? `Nothing to delete: ${what} does not exist.` : `Deleted ${what}.`);
}
