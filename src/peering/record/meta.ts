/** Validation of `Meta` ([PEER-7]). Values may be private, so no error text contains one ([PEER-8]). */
import { ServiceError } from '../../http/errors.ts';
import { META_KEY_CHARACTERS_MAX, META_PAIRS_MAX, META_VALUE_BYTES_MAX } from '../limits.ts';

const KEY = new RegExp(`^[A-Za-z0-9_-]{1,${META_KEY_CHARACTERS_MAX}}$`);

/** @throws ServiceError `bad-request` naming the wrong key, or the key of the wrong value */
export function checkMeta(meta: Readonly<Record<string, string>> = {}): void {
  const pairs = Object.entries(meta);
  if (pairs.length > META_PAIRS_MAX) {
    throw failed(`${pairs.length} pairs: want at most ${META_PAIRS_MAX}`);
  }
  for (const [key, value] of pairs) {
    if (!KEY.test(key)) {
      throw failed(`key ${quoted(key)}: want 1 to ${META_KEY_CHARACTERS_MAX} letters, digits, '-' or '_'`);
    }
    const bytes = Buffer.byteLength(value);
    if (bytes > META_VALUE_BYTES_MAX) {
      throw failed(`the value of "${key}" has ${bytes} bytes, want at most ${META_VALUE_BYTES_MAX}`);
    }
  }
}

const failed = (what: string): ServiceError => new ServiceError('bad-request', `meta tags failed validation: ${what}`);

const quoted = (key: string): string => JSON.stringify(key.slice(0, META_KEY_CHARACTERS_MAX));
