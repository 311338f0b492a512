/**
 * Creates the first credentials, the default partition and the cluster's fixed settings on an empty state [SRV-36], and
 * recovers lost credentials [SRV-45]. The file is written before the commit, because after a crash between the two the
 * next start commits what the file contains [SRV-39].
 */
import { randomUUID } from 'node:crypto';
import { recordChange, SYSTEM } from '../audit/record.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { Reader } from '../state/memory/reader.ts';
import type { State } from '../state/state.ts';
import type { Transaction } from '../state/write/transaction.ts';
import { type AclToken, ALL_GRANTS, aclTokens } from './acl-token.ts';
import { aclTokenToJson } from './acl-token-to-json.ts';
import { cluster } from './cluster.ts';
import {
  type CredentialsFile,
  CredentialsFileError,
  publishPendingCredentials,
  readCredentials,
  readPendingCredentials,
  removeCredentials,
  removePendingCredentials,
  removeTemporaryFiles,
  writeCredentials,
  writePendingCredentials,
} from './credentials-file.ts';
import { hashSecret, newApiToken, newId } from './ids-and-secrets.ts';
import { DEFAULT_PARTITION, partitions, partitionToJson } from './partition.ts';
import { users, userTokens } from './user.ts';

/** The secrets from the bootstrap settings [SRV-41]. */
export interface PresetSecrets {
  readonly aclToken: string | undefined;
  readonly adminToken: string | undefined;
}

export interface FirstStartOptions {
  readonly state: State;
  readonly clock: Clock;
  /** The data directory, for `credentials.json`. */
  readonly directory: string;
  /** The URL of this server. */
  readonly address: string;
  readonly datacenter: string;
  /** Whether `datacenter` is a default, so that the one of an existing cluster applies instead. */
  readonly isDefaultDatacenter?: boolean;
  /** Called only if the state is empty. */
  readonly presetSecrets: () => PresetSecrets;
}

/** Thrown if the settings contradict `credentials.json`, or the datacenter fixed at the first start. */
export class FirstStartError extends Error {
  override readonly name = 'FirstStartError';
}

const ADMIN = 'admin';

/** The audit action and the token descriptions of a first start or a recovery. */
interface CreationReason {
  readonly action: 'create' | 'recover';
  readonly aclTokenDescription: string;
  readonly userTokenDescription: string;
}

const FIRST_START: CreationReason = {
  action: 'create',
  aclTokenDescription: 'The first token: it holds every grant',
  userTokenDescription: 'First token',
};
const RECOVERY: CreationReason = {
  action: 'recover',
  aclTokenDescription: 'Created after credentials were lost; has every grant',
  userTokenDescription: 'Created after credentials were lost',
};

/** On a full state, an operator needs credentials to delete rows. */
const EXEMPT_FROM_ROW_LIMIT = { beyondRowsMax: true };

/** Creates the first credentials if the state is empty. @returns whether this server did @throws FirstStartError */
export async function createFirstCredentials(start: FirstStartOptions): Promise<boolean> {
  const { state, directory, datacenter } = start;
  const started = state.snapshot.get(cluster, 'cluster');
  if (started !== undefined) {
    if (start.isDefaultDatacenter !== true) checkDatacenter(started.row.datacenter, datacenter);
    return false;
  }
  const preset = start.presetSecrets();
  const existing = await existingCredentials(readCredentials(directory));
  const content = existing ?? newCredentials(start.address, preset);
  checkPreset(content, preset);
  if (existing === undefined) await writeCredentials(directory, content);
  const created = await state.write((tx) => {
    if (tx.get(cluster, 'cluster') !== undefined) return false;
    tx.put(cluster, { id: 'cluster', datacenter, createTime: isoTime(tx) });
    const partition = tx.put(partitions, { name: DEFAULT_PARTITION, description: 'Built in' });
    const after = partitionToJson(partition);
    recordChange(tx, SYSTEM, {
      action: 'create',
      type: 'partition',
      subject: DEFAULT_PARTITION,
      partition: DEFAULT_PARTITION,
      before: null,
      after,
    });
    putAclToken(tx, content, FIRST_START);
    putAdmin(tx, content, FIRST_START);
    return true;
  }, EXEMPT_FROM_ROW_LIMIT);
  if (!created) {
    // In a shared directory, the other server may have committed what this server's file contains [SRV-43].
    const isCommitted = state.snapshot.get(aclTokens, content.peering.accessorId) !== undefined;
    if (existing === undefined && !isCommitted) await removeCredentials(directory);
    if (start.isDefaultDatacenter !== true)
      checkDatacenter(state.snapshot.get(cluster, 'cluster')?.row.datacenter ?? datacenter, datacenter);
  }
  return created;
}

/** Creates credentials next to the existing ones [SRV-45]. @returns the new path of the previous file, if any */
export async function recoverCredentials({
  state,
  clock,
  directory,
  address,
}: FirstStartOptions): Promise<string | undefined> {
  const content = newCredentials(address, { aclToken: undefined, adminToken: undefined }, adminName(state.snapshot));
  await writePendingCredentials(directory, content);
  await state.write((tx) => {
    putAclToken(tx, content, RECOVERY);
    putAdmin(tx, content, RECOVERY);
  }, EXEMPT_FROM_ROW_LIMIT);
  return await publishPendingCredentials(directory, clock.now());
}

/**
 * Completes a recovery that was interrupted after its commit, and forgets one that was interrupted before. Must run
 * before other credentials are made. @returns whether it completed one @throws FirstStartError
 */
export async function completeRecovery({ state, clock, directory }: FirstStartOptions): Promise<boolean> {
  await removeTemporaryFiles(directory);
  const pending = await existingCredentials(readPendingCredentials(directory));
  if (pending === undefined) return false;
  if (state.snapshot.get(aclTokens, pending.peering.accessorId) === undefined) {
    await removePendingCredentials(directory);
    return false;
  }
  await publishPendingCredentials(directory, clock.now());
  return true;
}

/**
 * Reads the file of an interrupted start, or one that the operator placed.
 * @throws FirstStartError if it is not valid
 */
async function existingCredentials(
  reading: Promise<CredentialsFile | undefined>,
): Promise<CredentialsFile | undefined> {
  try {
    return await reading;
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

/** Returns `admin`, or the first of `admin-2` and so on that is free or belongs to a site administrator [SRV-46]. */
function adminName(reader: Reader): string {
  for (let number = 1; ; number++) {
    const username = number === 1 ? ADMIN : `${ADMIN}-${number}`;
    const holder = reader.find(users, 'username', username)?.row;
    if (holder === undefined || holder.siteAdmin) return username;
  }
}

function putAclToken(
  tx: Transaction,
  { peering }: CredentialsFile,
  { action, aclTokenDescription: description }: CreationReason,
): void {
  const token: AclToken = {
    accessorId: peering.accessorId,
    secretHash: hashSecret(peering.secretId),
    description,
    partition: DEFAULT_PARTITION,
    grants: ALL_GRANTS,
    createTime: isoTime(tx),
  };
  const after = aclTokenToJson(tx.put(aclTokens, token));
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
  { action, userTokenDescription: description }: CreationReason,
): void {
  const createTime = isoTime(tx);
  const { username } = teamAccess;
  const existing = tx.find(users, 'username', username);
  if (existing !== undefined && !existing.row.siteAdmin) {
    throw new FirstStartError(`the user '${username}' is not a site administrator: start with --recover again`);
  }
  const id = existing?.row.id ?? tx.memoizeAcrossRetries(() => newId('user'));
  if (existing === undefined) tx.put(users, { id, username, email: '', siteAdmin: true, createTime });
  const tokenId = tx.memoizeAcrossRetries(() => newId('at'));
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

/** @throws FirstStartError if the settings name another datacenter than that of the cluster */
export function checkDatacenter(fixed: string, configured: string): void {
  if (fixed === configured) return;
  throw new FirstStartError(
    `cluster.datacenter is '${configured}', but this cluster was created as '${fixed}': it is fixed at the first start; set it back`,
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
