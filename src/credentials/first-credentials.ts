/**
 * The first start of an empty state: the two first credentials, the default partition and what the cluster decides
 * once. The file is written before the commit, so that a crash between the two loses nothing: the next start finds the
 * file and commits what it says.
 */
import { randomUUID } from 'node:crypto';
import { recordChange, SYSTEM } from '../audit/record.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { Reader } from '../state/memory/reader.ts';
import type { State } from '../state/state.ts';
import type { Transaction } from '../state/write/transaction.ts';
import { type AclToken, aclTokens, showToken } from './acl-token.ts';
import { cluster } from './cluster.ts';
import {
  type CredentialsFile,
  CredentialsFileError,
  readCredentials,
  removeCredentials,
  setCredentialsAside,
  writeCredentials,
} from './credentials-file.ts';
import { EVERYTHING } from './grant.ts';
import { DEFAULT_PARTITION, partitions, showPartition } from './partition.ts';
import { hashSecret, newApiToken, newId } from './secret.ts';
import { users, userTokens } from './user.ts';

/** Credentials that an operator set beforehand. */
export interface PresetSecrets {
  readonly aclToken: string | undefined;
  readonly adminToken: string | undefined;
}

export interface FirstStart {
  readonly state: State;
  readonly clock: Clock;
  /** Where the file goes. */
  readonly directory: string;
  /** This server's own URL. */
  readonly address: string;
  readonly datacenter: string;
  /** Read only when the state is empty. */
  readonly presetSecrets: () => PresetSecrets;
}

/** Thrown when the settings or `credentials.json` contradict each other, or what the cluster decided at its first start. */
export class FirstStartError extends Error {
  override readonly name = 'FirstStartError';
}

const ADMIN = 'admin';

/** Why credentials are made: for the audit log, and for whoever lists them. */
interface Occasion {
  readonly action: 'create' | 'recover';
  readonly aclToken: string;
  readonly userToken: string;
}

const FIRST: Occasion = {
  action: 'create',
  aclToken: 'The first token: it holds every grant',
  userToken: 'First token',
};
const RECOVERY: Occasion = {
  action: 'recover',
  aclToken: 'Made when credentials were lost: it holds every grant',
  userToken: 'Made when credentials were lost',
};

/** A state that is full has to let somebody in who can make room. */
const NECESSARY = { beyondRowsMax: true };

/**
 * Makes the first credentials if the state is empty.
 * @returns whether this server made them, and so has the file
 * @throws FirstStartError
 */
export async function makeFirstCredentials(start: FirstStart): Promise<boolean> {
  const { state, directory, datacenter } = start;
  const decided = state.snapshot.get(cluster, 'cluster');
  if (decided !== undefined) {
    checkDatacenter(decided.row.datacenter, datacenter);
    return false;
  }
  const preset = start.presetSecrets();
  const standing = await standingCredentials(directory);
  const content = standing ?? newCredentials(start.address, preset);
  checkPreset(content, preset);
  if (standing === undefined) await writeCredentials(directory, content);
  const made = await state.write((tx) => {
    if (tx.get(cluster, 'cluster') !== undefined) return false;
    tx.put(cluster, { id: 'cluster', datacenter, createTime: isoTime(tx) });
    const partition = tx.put(partitions, { name: DEFAULT_PARTITION, description: 'Built in' });
    const after = showPartition(partition);
    recordChange(tx, SYSTEM, {
      action: 'create',
      type: 'partition',
      subject: DEFAULT_PARTITION,
      partition: DEFAULT_PARTITION,
      before: null,
      after,
    });
    putAclToken(tx, content, FIRST);
    putAdmin(tx, content, FIRST);
    return true;
  }, NECESSARY);
  if (!made) {
    // Unless another server found the file in a shared directory, and committed what it says.
    const inForce = state.snapshot.get(aclTokens, content.peering.accessorId) !== undefined;
    if (standing === undefined && !inForce) await removeCredentials(directory);
    checkDatacenter(state.snapshot.get(cluster, 'cluster')?.row.datacenter ?? datacenter, datacenter);
  }
  return made;
}

/**
 * Makes a new pair of credentials beside the old ones and writes them to the file; an older file is moved aside.
 * @returns where the older file is now
 */
export async function recoverCredentials({
  state,
  clock,
  directory,
  address,
}: FirstStart): Promise<string | undefined> {
  const aside = await setCredentialsAside(directory, clock.now());
  const content = newCredentials(address, { aclToken: undefined, adminToken: undefined }, adminName(state.snapshot));
  await writeCredentials(directory, content);
  await state.write((tx) => {
    putAclToken(tx, content, RECOVERY);
    putAdmin(tx, content, RECOVERY);
  }, NECESSARY);
  return aside;
}

/** What a start that was cut off, or an operator, has left. */
async function standingCredentials(directory: string): Promise<CredentialsFile | undefined> {
  try {
    return await readCredentials(directory);
  } catch (cause) {
    if (cause instanceof CredentialsFileError) throw new FirstStartError(cause.message, { cause });
    throw cause;
  }
}

function newCredentials(address: string, preset: PresetSecrets, username = ADMIN): CredentialsFile {
  return {
    address,
    peering: { accessorId: randomUUID(), secretId: preset.aclToken ?? randomUUID() },
    teamAccess: { username, token: preset.adminToken ?? newApiToken() },
  };
}

/** The first site administrator, or whoever can be it: another may have the name, once that one was deleted. */
function adminName(reader: Reader): string {
  for (let number = 1; ; number++) {
    const username = number === 1 ? ADMIN : `${ADMIN}-${number}`;
    const holder = reader.find(users, 'username', username)?.row;
    if (holder === undefined || holder.siteAdmin) return username;
  }
}

function putAclToken(tx: Transaction, { peering }: CredentialsFile, { action, aclToken: description }: Occasion): void {
  const token: AclToken = {
    accessorId: peering.accessorId,
    secretHash: hashSecret(peering.secretId),
    description,
    partition: DEFAULT_PARTITION,
    grants: EVERYTHING,
    createTime: isoTime(tx),
  };
  const after = showToken(tx.put(aclTokens, token));
  recordChange(tx, SYSTEM, {
    action,
    type: 'acl-token',
    subject: token.accessorId,
    partition: token.partition,
    before: null,
    after,
  });
}

function putAdmin(
  tx: Transaction,
  { teamAccess }: CredentialsFile,
  { action, userToken: description }: Occasion,
): void {
  const createTime = isoTime(tx);
  const { username } = teamAccess;
  const existing = tx.find(users, 'username', username);
  if (existing !== undefined && !existing.row.siteAdmin) {
    throw new FirstStartError(`the user '${username}' is no site administrator: start with --recover again`);
  }
  const id = existing?.row.id ?? tx.once(() => newId('user'));
  if (existing === undefined) tx.put(users, { id, username, email: '', siteAdmin: true, createTime });
  const tokenId = tx.once(() => newId('at'));
  const secretHash = hashSecret(teamAccess.token);
  tx.put(userTokens, { id: tokenId, userId: id, secretHash, description, createTime });
  const after = { username, 'site-admin': true };
  recordChange(tx, SYSTEM, {
    action,
    type: 'user-token',
    subject: tokenId,
    partition: DEFAULT_PARTITION,
    before: null,
    after,
  });
}

const isoTime = (tx: Transaction): string => new Date(tx.now).toISOString();

function checkDatacenter(decided: string, configured: string): void {
  if (decided === configured) return;
  throw new FirstStartError(
    `cluster.datacenter is '${configured}', but this cluster was made as '${decided}': it is fixed at the first start; set it back`,
  );
}

function checkPreset(content: CredentialsFile, preset: PresetSecrets): void {
  const same =
    (preset.aclToken === undefined || preset.aclToken === content.peering.secretId) &&
    (preset.adminToken === undefined || preset.adminToken === content.teamAccess.token);
  if (same) return;
  throw new FirstStartError(
    'credentials.json in the data directory and the bootstrap settings name different credentials: move the file away or unset them',
  );
}
