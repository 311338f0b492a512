/** How a server on loopback may be named, by its settings. */
import { isLoopback } from '../config/network-kinds.ts';
import type { Config } from '../config.ts';
import type { LocalNames } from '../http/server/origin.ts';

/** Who must name the server by `localhost` or an address. */
export function localNamesOf({ http, acl }: Pick<Config, 'http' | 'acl'>): LocalNames {
  if (!isLoopback(http.address.host)) return 'for-nobody';
  return acl.enabled && acl.defaultPolicy === 'deny' ? 'for-pages' : 'for-everybody';
}
