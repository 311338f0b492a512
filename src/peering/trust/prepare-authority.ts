/** Prepares the certificate authority when a server starts: creates a missing one and encrypts its keys. */
import { SYSTEM } from '../../audit/record.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { State } from '../../state/state.ts';
import type { SecretStore } from '../record/encrypted-secret.ts';
import { peerings } from '../record/record.ts';
import {
  AUTHORITY_KEY,
  authorities,
  authorityRow,
  encryptKeys,
  newAuthority,
  rootKeyPlace,
  serverKeyPlace,
  trustedAuthorities,
} from './authority.ts';
import type { ClusterName } from './cluster-name.ts';
import { createAuthority } from './issue-certificates.ts';
import { recordAuthorityChange } from './record-authority-change.ts';

export interface AuthorityDependencies {
  readonly state: State;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly log: Log;
  readonly name: ClusterName;
}

/**
 * Creates the certificate authority of a state without one ([PEER-93]), verifies that its keys can be decrypted, and
 * encrypts plain keys if there is a data key ([PEER-92]). When several servers start at the same time, one of them
 * creates it.
 * @throws DataKeyError, StateError
 */
export async function prepareAuthority(dependencies: AuthorityDependencies): Promise<void> {
  await createIfMissing(dependencies);
  const { state, secrets, log } = dependencies;
  // A wrong data key must fail here, before anything is encrypted with it.
  for (const { id, root, server } of trustedAuthorities(authorityRow(state.snapshot))) {
    secrets.decrypt(root.key, rootKeyPlace(id));
    secrets.decrypt(server.key, serverKeyPlace(id));
  }
  if (encryptKeys(authorityRow(state.snapshot), secrets) === undefined) return;
  await state.write((tx) => {
    const next = encryptKeys(authorityRow(tx), secrets);
    if (next !== undefined) tx.put(authorities, next);
  });
  log.info('certificate authority keys encrypted with the data key');
}

async function createIfMissing({ state, clock, secrets, log, name }: AuthorityDependencies): Promise<void> {
  if (state.snapshot.get(authorities, AUTHORITY_KEY) !== undefined) return;
  const authority = await createAuthority({ name, secrets, nowMs: clock.now() });
  const created = await state.write(
    (tx) => {
      if (tx.get(authorities, AUTHORITY_KEY) !== undefined) return false;
      const after = tx.put(authorities, newAuthority(authority));
      recordAuthorityChange(tx, SYSTEM, 'create', undefined, after.row);
      return true;
    },
    { beyondRowsMax: true },
  );
  if (!created) return;
  log.info({ fingerprint: authority.root.fingerprint, serverName: name.serverName }, 'certificate authority created');
  const hasPeerings = state.snapshot.all(peerings, { limit: 1 }).length > 0;
  if (hasPeerings) log.warn('certificate authority is new: every peering must be established again');
}
