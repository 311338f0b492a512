/**
 * Refuses a prefix that overlaps with that of another cluster [ETCD-84]. A cluster in `accord/` watches and cleans up all
 * keys below it, so one in `accord/test/` would lose rows and wake the other with each of its commits.
 */
import { StateError } from '../../errors.ts';
import type { EtcdClient } from './client/client.ts';
import { failureKind } from './client/failures.ts';
import { decodeKeyValue, readKey } from './client/requests.ts';
import { decodePosition } from './head-record.ts';
import { decodeUtf8, encodeUtf8, type KeyRange, keyAfter, OWN_FOLDERS, prefixEnd } from './keys.ts';
import { FOREIGN_KEYS_MAX, FOREIGN_PAGE_KEYS } from './limits.ts';

const HEAD = 'head';

/** @throws StateError `not-empty` if another cluster's prefix contains this one, or is inside it */
export async function checkPrefix(client: EtcdClient, prefix: string, signal: AbortSignal): Promise<void> {
  for (const outer of outerPrefixes(prefix)) {
    if (await hasHead(client, outer, signal)) throw overlapError(prefix, outer);
  }
  for (const inner of await innerPrefixes(client, prefix, signal)) {
    if (await hasHead(client, inner, signal)) throw overlapError(prefix, inner);
  }
}

/** `a/b/c/` → `a/`, `a/b/`. */
function outerPrefixes(prefix: string): string[] {
  const found: string[] = [];
  for (let at = prefix.indexOf('/'); at < prefix.length - 1; at = prefix.indexOf('/', at + 1)) {
    found.push(prefix.slice(0, at + 1));
  }
  return found;
}

/** Returns where other clusters may be below `prefix`: in the engine's own folders, and where other keys are. */
async function innerPrefixes(client: EtcdClient, prefix: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const found = new Set(OWN_FOLDERS.map((folder) => prefix + folder));
  let start = encodeUtf8(prefix);
  for (const folder of [...OWN_FOLDERS].toSorted()) {
    const own = encodeUtf8(prefix + folder);
    for (const key of await keysIn(client, { key: start, rangeEnd: own }, signal)) addPrefixes(found, prefix, key);
    start = prefixEnd(own);
  }
  const rest = { key: start, rangeEnd: prefixEnd(encodeUtf8(prefix)) };
  for (const key of await keysIn(client, rest, signal)) addPrefixes(found, prefix, key);
  return found;
}

/** Adds the prefix of the cluster that a key below `prefix` can belong to. Every cluster with rows has `gen/` keys. */
function addPrefixes(found: Set<string>, prefix: string, key: string): void {
  const path = key.slice(prefix.length);
  for (const folder of OWN_FOLDERS) {
    const at = path.indexOf(`/${folder}`);
    if (at >= 0) found.add(prefix + path.slice(0, at + 1));
  }
  if (path.endsWith(`/${HEAD}`)) found.add(prefix + path.slice(0, -HEAD.length));
}

/** Returns the first keys of a range, as many as show whose they are. */
async function keysIn(client: EtcdClient, range: KeyRange, signal: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  let key = range.key;
  while (found.length < FOREIGN_KEYS_MAX) {
    const request = { key, rangeEnd: range.rangeEnd, limit: FOREIGN_PAGE_KEYS, keysOnly: true };
    const answer = await client.retry((endpoint, call) => endpoint.kv.range(request, call), signal);
    const keys = answer.kvs.map((kv) => decodeKeyValue(kv).key);
    found.push(...keys.map(decodeUtf8));
    const last = keys.at(-1);
    if (!answer.more || last === undefined) break;
    key = keyAfter(last);
  }
  return found;
}

async function hasHead(client: EtcdClient, prefix: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { kv } = await readKey(client, encodeUtf8(prefix + HEAD), signal);
    if (kv === undefined) return false;
    decodePosition(kv);
    return true;
  } catch (error) {
    // A key of another program, or one outside the permissions of this server's user.
    if (error instanceof StateError || failureKind(error) === 'rejected') return false;
    throw error;
  }
}

function overlapError(prefix: string, other: string): StateError {
  const message = `etcd.prefix ${prefix} overlaps with the prefix ${other} of another cluster: choose one that is not part of it, such as ${other.replace(/\/$/, '')}-2/`;
  return new StateError('not-empty', message);
}
