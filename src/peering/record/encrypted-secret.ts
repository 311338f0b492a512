/**
 * Storage of private keys and stream secrets, which the server needs in plain text. They are encrypted with the data
 * key when the server has one ([PEER-92]). Each stored secret records its form, so a data key can be added later.
 */
import type { TextCipher } from '../../state/transfer/encryption.ts';

export type StoredSecret =
  | {
      /** The base64 ciphertext, authenticated with its context. */
      readonly sealed: string;
    }
  | { readonly clear: string };

/** `context` is a secret's table, key and field. It is authenticated, so a ciphertext cannot move to another row. */
export interface SecretStore {
  /** Encrypts with the data key. Without one, the secret remains plain text. */
  encrypt(text: string, context: string): StoredSecret;
  /** @throws DataKeyError when the secret is encrypted and the data key is missing or different */
  decrypt(stored: StoredSecret, context: string): string;
  /** Encrypts a plain secret if there is a data key. Otherwise returns `stored` itself. */
  encryptIfPlain(stored: StoredSecret, context: string): StoredSecret;
}

/** The data key cannot decrypt a stored secret. The message names the setting to correct. */
export class DataKeyError extends Error {
  override readonly name = 'DataKeyError';
}

/** @param dataKey the key of `data-key-file`; `undefined` without that setting */
export function createSecretStore(dataKey: TextCipher | undefined): SecretStore {
  const encrypt = (text: string, context: string): StoredSecret =>
    dataKey === undefined ? { clear: text } : { sealed: dataKey.encrypt(text, context) };
  return {
    encrypt,
    decrypt(stored, context) {
      if ('clear' in stored) return stored.clear;
      if (dataKey === undefined) {
        throw new DataKeyError(
          'data-key-file is not set, but secrets in the state are encrypted with a data key: set it to the file that holds that key',
        );
      }
      try {
        return dataKey.decrypt(stored.sealed, context);
      } catch (cause) {
        throw new DataKeyError(
          'data-key-file holds another key than the one that secrets in the state are encrypted with: set it to the file that holds that one',
          { cause },
        );
      }
    },
    encryptIfPlain: (stored, context) =>
      'clear' in stored && dataKey !== undefined ? encrypt(stored.clear, context) : stored,
  };
}
