/**
 * Reads and writes `credentials.json` in the data directory, which gives the operator the first credentials [SRV-37].
 */
import { randomUUID } from 'node:crypto';
import { link, open, readdir, readFile, rename, rm } from 'node:fs/promises';
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
/** The credentials of a recovery whose commit may not have been made yet. */
const PENDING_FILE = 'credentials.pending.json';
/** Attempts to write a file whose temporary file another starting server removes. */
const ATTEMPTS_MAX = 3;

export const credentialsPath = (directory: string): string => path.join(directory, FILE);

/** Returns the content of the file, or undefined if it is missing. @throws CredentialsFileError; Error of the system */
export function readCredentials(directory: string): Promise<CredentialsFile | undefined> {
  return readFileOf(credentialsPath(directory));
}

/** Returns the credentials of an interrupted recovery. @throws like `readCredentials` */
export function readPendingCredentials(directory: string): Promise<CredentialsFile | undefined> {
  return readFileOf(path.join(directory, PENDING_FILE));
}

async function readFileOf(file: string): Promise<CredentialsFile | undefined> {
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
  await writeNewFile(directory, FILE, content);
}

/** Writes the credentials of a recovery before its commit. Replaces those of an interrupted one. */
export async function writePendingCredentials(directory: string, content: CredentialsFile): Promise<void> {
  await rm(path.join(directory, PENDING_FILE), { force: true });
  await writeNewFile(directory, PENDING_FILE, content);
}

/** Makes the credentials of a recovery the current ones, after its commit. @returns the new path of the previous file */
export async function publishPendingCredentials(directory: string, now: number): Promise<string | undefined> {
  const aside = await moveCredentialsAside(directory, now);
  await rename(path.join(directory, PENDING_FILE), credentialsPath(directory));
  await syncDirectory(directory);
  return aside;
}

export async function removePendingCredentials(directory: string): Promise<void> {
  await rm(path.join(directory, PENDING_FILE), { force: true });
}

/** Removes the temporary files of servers that were killed. */
export async function removeTemporaryFiles(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const temporary = names.filter((name) => name.startsWith(`${FILE}.`) || name.startsWith(`${PENDING_FILE}.`));
  for (const name of temporary.filter((found) => found.endsWith('.tmp'))) {
    await rm(path.join(directory, name), { force: true });
  }
}

async function writeNewFile(directory: string, name: string, content: CredentialsFile): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await writeOnce(path.join(directory, name), content);
      break;
    } catch (error) {
      // In a shared directory, another server that starts may remove the temporary file.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === ATTEMPTS_MAX) throw error;
    }
  }
  await syncDirectory(directory);
}

async function writeOnce(file: string, content: CredentialsFile): Promise<void> {
  // A random name and exclusive creation: no file or link can have been placed there.
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await using handle = await open(temporary, 'wx', 0o600);
    await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
    await handle.sync();
    // Unlike rename, link fails if the target exists.
    await link(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function syncDirectory(directory: string): Promise<void> {
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
