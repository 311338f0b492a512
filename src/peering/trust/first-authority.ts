/** The certificate authority at the start of a server: there, openable, and sealed where that is asked for. */
import { SYSTEM } from '../../audit/record.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { State } from '../../state/state.ts';
import type { SecretStore } from '../record/encrypted-secret.ts';
import { peerings } from '../record/record.ts';
import {
  AUTHORITY_KEY,
  authorities,
  authorityOf,
  keysSealed,
  newAuthority,
  rootKeyPlace,
  serverKeyPlace,
  trustedAuthorities,
} from './authority.ts';
import { makeAuthority } from './make-certificates.ts';
import type { ClusterName } from './names.ts';
import { recordAuthority } from './record-authority.ts';

export interface AuthorityStart {
  readonly state: State;
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly log: Log;
  readonly name: ClusterName;
}

/**
 * Makes the authority of a state that has none, seals keys that lie in clear when there is a data key, and tries them.
 * Of several servers that start at once one makes it; the others take that.
 * @throws DataKeyError, StateError
 */
export async function prepareAuthority(start: AuthorityStart): Promise<void> {
  await makeMissing(start);
  const { state, secrets, log } = start;
  // Before anything is sealed: with the wrong key nothing must change.
  for (const { id, root, server } of trustedAuthorities(authorityOf(state.snapshot))) {
    secrets.open(root.key, rootKeyPlace(id));
    secrets.open(server.key, serverKeyPlace(id));
  }
  if (keysSealed(authorityOf(state.snapshot), secrets) === undefined) return;
  await state.write((tx) => {
    const next = keysSealed(authorityOf(tx), secrets);
    if (next !== undefined) tx.put(authorities, next);
  });
  log.info('the keys of the certificate authority are encrypted with the data key from now on');
}

async function makeMissing({ state, clock, secrets, log, name }: AuthorityStart): Promise<void> {
  if (state.snapshot.get(authorities, AUTHORITY_KEY) !== undefined) return;
  const authority = await makeAuthority({ name, secrets, nowMs: clock.now() });
  const made = await state.write(
    (tx) => {
      if (tx.get(authorities, AUTHORITY_KEY) !== undefined) return false;
      const after = tx.put(authorities, newAuthority(authority));
      recordAuthority(tx, SYSTEM, 'create', undefined, after.row);
      return true;
    },
    { beyondRowsMax: true },
  );
  if (!made) return;
  log.info({ fingerprint: authority.root.fingerprint, serverName: name.serverName }, 'made the certificate authority');
  const orphaned = state.snapshot.all(peerings, { limit: 1 }).length > 0;
  if (orphaned) log.warn('the certificate authority is a new one: every peering has to be established again');
}
