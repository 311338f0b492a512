/** What people may attach to a peering. Values can be private: no text quotes them. */
import { ServiceError } from '../../http/errors.ts';
import { META_KEY_CHARACTERS_MAX, META_PAIRS_MAX, META_VALUE_BYTES_MAX } from '../limits.ts';

const KEY = new RegExp(`^[A-Za-z0-9_-]{1,${META_KEY_CHARACTERS_MAX}}$`);

/** @throws ServiceError `bad-request` naming the key that is wrong, or whose value is */
export function checkMeta(meta: Readonly<Record<string, string>> = {}): void {
  const pairs = Object.entries(meta);
  if (pairs.length > META_PAIRS_MAX) {
    throw failed(`${pairs.length} pairs are too many, want at most ${META_PAIRS_MAX}`);
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

/** A key that is too long is shown as far as a good one could go. */
const quoted = (key: string): string => JSON.stringify(key.slice(0, META_KEY_CHARACTERS_MAX));
