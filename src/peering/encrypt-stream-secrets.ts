/**
 * Stream secrets at the start of a server that has a data key: those that lie in clear, since the state had no data key
 * when they were agreed, are sealed. A bounded number at once; what a start that is cut off leaves in clear, the next one
 * seals.
 */
import type { Log } from '../http/telemetry/log.ts';
import type { State } from '../state/state.ts';
import type { DeepReadonly, Table } from '../state/table.ts';
import { SEALED_AT_ONCE_MAX } from './limits.ts';
import type { SecretStore, StoredSecret } from './record/encrypted-secret.ts';
import { links, streamSecretPlace, type Tombstone, tombstones } from './record/secrets.ts';

interface Parts {
  readonly state: State;
  readonly secrets: SecretStore;
  readonly log: Log;
}

/**
 * Seals the secrets in links and in tombstones. Nothing happens without a data key. To be called once the data key is
 * known to be that of the state. @throws StateError
 */
export async function sealStreamSecrets({ state, secrets, log }: Parts): Promise<void> {
  const renewed = (secret: StoredSecret, peeringId: string): StoredSecret | undefined => {
    const next = secrets.renew(secret, streamSecretPlace(peeringId));
    return next === secret ? undefined : next;
  };
  const inLinks = await sealTable(state, links, (row) => {
    const secret = renewed(row.secret, row.peeringId);
    return secret && { ...row, secret };
  });
  const inTombstones = await sealTable(state, tombstones, (row): DeepReadonly<Tombstone> | undefined => {
    const secret = row.link && renewed(row.link.secret, row.peeringId);
    return row.link && secret && { ...row, link: { ...row.link, secret } };
  });
  const count = inLinks + inTombstones;
  if (count > 0) log.info({ count }, 'the stream secrets of peerings are encrypted with the data key from now on');
}

/** @param sealed a row with its secret sealed; undefined: it is, or has none. @returns how many rows were changed */
async function sealTable<Row>(
  state: State,
  table: Table<Row, string>,
  sealed: (row: DeepReadonly<Row>) => DeepReadonly<Row> | undefined,
): Promise<number> {
  const inClear = state.snapshot.all(table).filter(({ row }) => sealed(row) !== undefined);
  const keys = inClear.map(({ row }) => table.key(row));
  for (let from = 0; from < keys.length; from += SEALED_AT_ONCE_MAX) {
    const some = keys.slice(from, from + SEALED_AT_ONCE_MAX);
    // A row a write: what fits into one commit, the state knows best.
    await Promise.all(
      some.map((key) =>
        state.write((tx) => {
          const row = tx.get(table, key)?.row;
          const next = row && sealed(row);
          if (next !== undefined) tx.put(table, next);
        }),
      ),
    );
  }
  return keys.length;
}
