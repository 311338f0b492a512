/**
 * Secrets that must be kept in clear for use (private keys, stream secrets), as they lie in rows: sealed with the data
 * key where the server has one, else in clear. The form says which, so that a state can be given a data key later.
 */
import type { Sealer } from '../../state/transfer/encryption.ts';

/** A secret as a row holds it; a plain JSON value. */
export type StoredSecret =
  | {
      /** Encrypted with the data key and bound to its place; base64. */
      readonly sealed: string;
    }
  | { readonly clear: string };

/** Writes and reads stored secrets. A place is the table, key and field where the secret stands; it never changes. */
export interface SecretStore {
  /** Seals the text with the data key; in clear without one. */
  seal(text: string, place: string): StoredSecret;
  /** The text again. @throws DataKeyError when it is sealed and the data key is missing or another one */
  open(stored: StoredSecret, place: string): string;
  /** The same secret as this server writes it: sealed now if it was in clear and there is a data key. */
  renew(stored: StoredSecret, place: string): StoredSecret;
}

/** Thrown for a secret that this server's settings cannot open. Its message tells an operator which setting to mend. */
export class DataKeyError extends Error {
  override readonly name = 'DataKeyError';
}

/** Stored secrets under the key of `data-key-file`; `undefined`: the setting is not given. */
export function createSecretStore(dataKey: Sealer | undefined): SecretStore {
  const seal = (text: string, place: string): StoredSecret =>
    dataKey === undefined ? { clear: text } : { sealed: dataKey.seal(text, place) };
  return {
    seal,
    open(stored, place) {
      if ('clear' in stored) return stored.clear;
      if (dataKey === undefined) {
        throw new DataKeyError(
          'data-key-file is not set, but secrets in the state are encrypted with a data key: set it to the file that holds that key',
        );
      }
      try {
        return dataKey.unseal(stored.sealed, place);
      } catch (cause) {
        throw new DataKeyError(
          'data-key-file holds another key than the one that secrets in the state are encrypted with: set it to the file that holds that one',
          { cause },
        );
      }
    },
    renew: (stored, place) => ('clear' in stored && dataKey !== undefined ? seal(stored.clear, place) : stored),
  };
}
