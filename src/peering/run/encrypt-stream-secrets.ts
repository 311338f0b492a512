/**
 * Encryption of existing stream secrets when a server starts with a data key for the first time ([PEER-92]). A start
 * that is interrupted leaves the remaining secrets to the next one.
 */
import type { Log } from '../../http/telemetry/log.ts';
import type { State } from '../../state/state.ts';
import type { DeepReadonly, Table } from '../../state/table.ts';
import { ENCRYPTIONS_IN_PARALLEL_MAX } from '../limits.ts';
import type { SecretStore, StoredSecret } from '../record/encrypted-secret.ts';
import { links, streamSecretContext, type Tombstone, tombstones } from '../record/secrets.ts';

interface EncryptionDependencies {
  readonly state: State;
  readonly secrets: SecretStore;
  readonly log: Log;
}

/** Does nothing without a data key. The caller must have verified that it belongs to the state. @throws StateError */
export async function encryptStreamSecrets({ state, secrets, log }: EncryptionDependencies): Promise<void> {
  const encrypt = (secret: StoredSecret, peeringId: string): StoredSecret | undefined => {
    const next = secrets.encryptIfPlain(secret, streamSecretContext(peeringId));
    return next === secret ? undefined : next;
  };
  const inLinks = await encryptTable(state, links, (row) => {
    const secret = encrypt(row.secret, row.peeringId);
    return secret && { ...row, secret };
  });
  const inTombstones = await encryptTable(state, tombstones, (row): DeepReadonly<Tombstone> | undefined => {
    const secret = row.link && encrypt(row.link.secret, row.peeringId);
    return row.link && secret && { ...row, link: { ...row.link, secret } };
  });
  const count = inLinks + inTombstones;
  if (count > 0) log.info({ count }, 'stream secrets encrypted with the data key');
}

/** @param encrypted returns `undefined` when there is nothing to encrypt @returns the number of rows changed */
async function encryptTable<Row>(
  state: State,
  table: Table<Row, string>,
  encrypted: (row: DeepReadonly<Row>) => DeepReadonly<Row> | undefined,
): Promise<number> {
  const plain = state.snapshot.all(table).filter(({ row }) => encrypted(row) !== undefined);
  const keys = plain.map(({ row }) => table.key(row));
  for (let from = 0; from < keys.length; from += ENCRYPTIONS_IN_PARALLEL_MAX) {
    const batch = keys.slice(from, from + ENCRYPTIONS_IN_PARALLEL_MAX);
    // One write per row: the write queue groups them into commits that fit.
    await Promise.all(
      batch.map((key) =>
        state.write((tx) => {
          const row = tx.get(table, key)?.row;
          const next = row && encrypted(row);
          if (next !== undefined) tx.put(table, next);
        }),
      ),
    );
  }
  return keys.length;
}
