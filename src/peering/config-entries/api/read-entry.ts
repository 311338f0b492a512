/** `GET /v1/config/:kind/:name`: one entry; can wait, also for one that is not there yet. */
import { type Asked, type Credentials, waitingAs } from '../../../credentials/operation.ts';
import type { Evaluate } from '../../../http/blocking/reads.ts';
import { configEntries, type Kind } from '../config-entry.ts';
import { showEntry } from '../entry-to-json.ts';
import { entryNotFound, findEntry } from './find-entry.ts';

export function readEntry(
  credentials: Credentials,
  asked: Asked,
  { kind, name }: { readonly kind: Kind; readonly name: string },
): Evaluate {
  const { state } = credentials;
  return (snapshot) => {
    const { caller, key, stored } = findEntry(credentials, snapshot, { asked, kind, name, access: 'read' });
    const watched = state.watchRow(configEntries, key);
    if (stored === undefined) return { ...waitingAs(caller), watched, error: entryNotFound(kind, name) };
    return { ...waitingAs(caller), watched, body: () => showEntry(stored) };
  };
}
