/** `credentials.json` in the data directory: the first credentials, for the operator and the command line. */
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { makeDirectory } from '../state/make-directory.ts';

/** What the file holds; other people's scripts rely on these names. */
export interface CredentialsFile {
  /** Where the server that wrote it listens, as a URL. */
  readonly address: string;
  readonly peering: { readonly accessorId: string; readonly secretId: string };
  readonly teamAccess: { readonly username: string; readonly token: string };
}

/** Thrown for a file that is there and is not one of ours. */
export class CredentialsFileError extends Error {
  override readonly name = 'CredentialsFileError';
}

const FILE = 'credentials.json';

export const credentialsPath = (directory: string): string => path.join(directory, FILE);

/** The file's content, or undefined when there is none. @throws CredentialsFileError; Error of the system */
export async function readCredentials(directory: string): Promise<CredentialsFile | undefined> {
  const file = credentialsPath(directory);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const content = parse(text);
  if (content === undefined) {
    throw new CredentialsFileError(
      `'${file}' is there and holds no credentials of Accord: move it away, it is never overwritten`,
    );
  }
  return content;
}

/**
 * Writes the file with mode 0600, complete or not at all, and never over an existing one.
 * @throws Error with code EEXIST when it is there
 */
export async function writeCredentials(directory: string, content: CredentialsFile): Promise<void> {
  await makeDirectory(directory, 0o700);
  const file = credentialsPath(directory);
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await using handle = await open(temporary, 'w', 0o600);
    await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
    await handle.sync();
    // Unlike a rename, a link fails where something is.
    await link(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
  await using folder = await open(directory, 'r');
  await folder.sync();
}

/** Moves an existing file aside, so that a new one can be written. @returns where it is now, if there was one */
export async function setCredentialsAside(directory: string, now: number): Promise<string | undefined> {
  const file = credentialsPath(directory);
  const aside = path.join(directory, `credentials.${new Date(now).toISOString().replaceAll(':', '')}.json`);
  try {
    await rename(file, aside);
    return aside;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Takes back a file that this process wrote and that names credentials which did not come to be. */
export async function removeCredentials(directory: string): Promise<void> {
  await rm(credentialsPath(directory), { force: true });
}

function parse(text: string): CredentialsFile | undefined {
  try {
    const { address, peering, teamAccess } = JSON.parse(text) as CredentialsFile;
    const strings = [address, peering.accessorId, peering.secretId, teamAccess.username, teamAccess.token];
    return strings.every((value) => typeof value === 'string') ? { address, peering, teamAccess } : undefined;
  } catch {
    return undefined;
  }
}
