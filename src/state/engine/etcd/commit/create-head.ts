import type { EtcdClient } from '../client/client.ts';
import { put, readKey, unchangedSince } from '../client/requests.ts';
import { encodeHead, readPosition } from '../head-record.ts';
import type { Keys } from '../keys.ts';
import { FIRST_INDEX, LAYOUT_FORMAT } from '../limits.ts';

/** The generation of a store that was never imported into. */
const FIRST_GENERATION = '0';

/**
 * Makes the head if there is none; of several nodes that start together one makes it for all.
 * @throws StateError `corrupt` when there is one that this program cannot read
 */
export async function createHead(client: EtcdClient, keys: Keys, id: () => string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { kv, header } = await readKey(client, keys.head, signal);
    if (kv !== undefined) {
      readPosition(kv);
      return;
    }
    const cluster = id();
    const head = encodeHead({
      format: LAYOUT_FORMAT,
      cluster,
      epoch: 1,
      index: FIRST_INDEX,
      generation: FIRST_GENERATION,
      etcdCluster: String(header.clusterId),
      by: `create/${cluster}`,
    });
    const transaction = { compare: [unchangedSince(keys.head, 0n)], success: [put(keys.head, head)] };
    await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
  }
}
