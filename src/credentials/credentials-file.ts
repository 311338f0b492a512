/**
 * Reads and writes `credentials.json` in the data directory, which gives the operator the first credentials [SRV-37].
 */
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { makeDirectory } from '../state/make-directory.ts';

/** The content of the file. Operators' scripts depend on these names. */
export interface CredentialsFile {
  /** The URL of the server that wrote the file. */
  readonly address: string;
  readonly peering: { readonly accessorId: string; readonly secretId: string };
  readonly teamAccess: { readonly username: string; readonly token: string };
}

export class CredentialsFileError extends Error {
  override readonly name = 'CredentialsFileError';
}

const FILE = 'credentials.json';

export const credentialsPath = (directory: string): string => path.join(directory, FILE);

/** Returns the content of the file, or undefined if it is missing. @throws CredentialsFileError; Error of the system */
export async function readCredentials(directory: string): Promise<CredentialsFile | undefined> {
  const file = credentialsPath(directory);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const content = parseCredentials(text);
  if (content === undefined) {
    throw new CredentialsFileError(
      `'${file}' exists and contains no credentials of Accord: move it away, because the server never overwrites it`,
    );
  }
  return content;
}

/** Writes the file with mode 0600, completely or not at all [SRV-38]. @throws Error with code EEXIST if it exists */
export async function writeCredentials(directory: string, content: CredentialsFile): Promise<void> {
  await makeDirectory(directory, 0o700);
  const file = credentialsPath(directory);
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await using handle = await open(temporary, 'w', 0o600);
    await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
    await handle.sync();
    // Unlike rename, link fails if the target exists.
    await link(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
  await using folder = await open(directory, 'r');
  await folder.sync();
}

/** Renames an existing file to `credentials.<time>.json`. @returns its new path; undefined without a file */
export async function moveCredentialsAside(directory: string, now: number): Promise<string | undefined> {
  const file = credentialsPath(directory);
  const target = path.join(directory, `credentials.${new Date(now).toISOString().replaceAll(':', '')}.json`);
  try {
    await rename(file, target);
    return target;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Deletes a file that this process wrote and whose credentials were not committed. */
export async function removeCredentials(directory: string): Promise<void> {
  await rm(credentialsPath(directory), { force: true });
}

function parseCredentials(text: string): CredentialsFile | undefined {
  try {
    const { address, peering, teamAccess } = JSON.parse(text) as CredentialsFile;
    const strings = [address, peering.accessorId, peering.secretId, teamAccess.username, teamAccess.token];
    return strings.every((value) => typeof value === 'string') ? { address, peering, teamAccess } : undefined;
  } catch {
    return undefined;
  }
}
