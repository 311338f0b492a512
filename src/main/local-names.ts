/** Chooses the protection against DNS rebinding by the settings. */
import { isLoopback } from '../config/network-kinds.ts';
import type { Config } from '../config.ts';
import type { LocalNames } from '../http/server/origin.ts';

/** Returns which requests must name a server on loopback by `localhost` or an IP address. */
export function localNamesOf({ http, acl }: Pick<Config, 'http' | 'acl'>): LocalNames {
  if (!isLoopback(http.address.host)) return 'never';
  return acl.enabled && acl.defaultPolicy === 'deny' ? 'with-origin' : 'always';
}
