/**
 * Encryption of what must not be read by whoever holds a file: AES-256-GCM with the data key, or with a key that scrypt
 * makes of a passphrase. Each text is bound to where it stands (its table and key), so that none can be moved.
 */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SALT_BYTES = 16;
/** OWASP's recommendation for scrypt: 128 MiB, about half a second, once an export. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 } as const;

/** Encrypts and decrypts texts under one key. */
export interface Sealer {
  /** How the key is made again: written in clear beside what is sealed. */
  readonly recipe: SealRecipe;
  seal(text: string, place: string): string;
  /** @throws Error when the key is another one or the text was changed or moved */
  unseal(sealed: string, place: string): string;
}

export type SealRecipe = { readonly key: 'data-key' } | { readonly key: 'passphrase'; readonly salt: string };

/** A sealer with the key of `data-key-file`. @throws RangeError unless it has 32 bytes */
export function dataKeySealer(key: Buffer): Sealer {
  if (key.length !== KEY_BYTES) throw new RangeError(`a data key has ${KEY_BYTES} bytes, this one has ${key.length}`);
  return sealer(key, { key: 'data-key' });
}

/** A sealer with a key made of a passphrase; `salt` (base64) is that of the recipe when something is to be unsealed. */
export async function passphraseSealer(passphrase: string, salt?: string): Promise<Sealer> {
  const saltBytes = salt === undefined ? randomBytes(SALT_BYTES) : Buffer.from(salt, 'base64');
  const derive = promisify<string, Buffer, number, typeof SCRYPT, Buffer>(scrypt);
  const key = await derive(passphrase.normalize('NFC'), saltBytes, KEY_BYTES, SCRYPT);
  return sealer(key, { key: 'passphrase', salt: saltBytes.toString('base64') });
}

function sealer(key: Buffer, recipe: SealRecipe): Sealer {
  return {
    recipe,
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
    },
    unseal(sealed, place) {
      const bytes = Buffer.from(sealed, 'base64');
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place)).setAuthTag(tag);
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      );
    },
  };
}
