/**
 * Encryption of secrets in the store and in exports: AES-256-GCM with the data key, or with a key that scrypt derives
 * from a passphrase. Each text is bound to its location (table and key), so it cannot be moved to another row.
 */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SALT_BYTES = 16;
/** OWASP's recommendation for scrypt. Takes 128 MiB and about half a second, once per export. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 } as const;

export interface TextCipher {
  readonly keySource: KeySource;
  /** @param associatedData the location of the text, which is authenticated but not part of the result */
  encrypt(text: string, associatedData: string): string;
  /** @throws Error if the key or the associated data differs, or the text was changed */
  decrypt(encrypted: string, associatedData: string): string;
}

/** The origin of a key, stored in clear next to the encrypted texts. `salt` is base64. */
export type KeySource = { readonly key: 'data-key' } | { readonly key: 'passphrase'; readonly salt: string };

/** Returns a cipher with the key of `data-key-file`. @throws RangeError if the key does not have 32 bytes */
export function dataKeyCipher(key: Buffer): TextCipher {
  if (key.length !== KEY_BYTES)
    throw new RangeError(`a data key has ${KEY_BYTES} bytes, but this one has ${key.length}`);
  return createCipher(key, { key: 'data-key' });
}

/** Returns a cipher with a key derived from a passphrase. `salt` is the salt of the key source; random by default. */
export async function passphraseCipher(passphrase: string, salt?: string): Promise<TextCipher> {
  const saltBytes = salt === undefined ? randomBytes(SALT_BYTES) : Buffer.from(salt, 'base64');
  const derive = promisify<string, Buffer, number, typeof SCRYPT, Buffer>(scrypt);
  const key = await derive(passphrase.normalize('NFC'), saltBytes, KEY_BYTES, SCRYPT);
  return createCipher(key, { key: 'passphrase', salt: saltBytes.toString('base64') });
}

function createCipher(key: Buffer, keySource: KeySource): TextCipher {
  return {
    keySource,
    encrypt(text, associatedData) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(associatedData));
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64');
    },
    decrypt(encrypted, associatedData) {
      const bytes = Buffer.from(encrypted, 'base64');
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(associatedData)).setAuthTag(tag);
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      );
    },
  };
}
