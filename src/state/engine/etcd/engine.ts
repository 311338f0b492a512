/**
 * The engine for several servers that share one state in an etcd cluster.
 *
 * etcd provides consensus, durability, and order; this engine adds what `../engine.ts` promises beyond that. From the
 * bottom: the key layout and head record, `client/` (calls), `follow/` (loading and watching), `commit/` (commits and
 * fairness), and `node/` (leases, live nodes, status rows, import, housekeeping).
 *
 * Rejected alternatives: etcd's revision as the index (leased keys and keys of other programs move it), progress
 * notifications as proof that a snapshot is current (they can overtake events), and writer keys with a lease (a
 * successful commit would look failed after its writer key expired).
 *
 * Remaining trap: a reverse scan makes etcd read and sort its whole range, so callers keep such ranges narrow
 * [ETCD-61].
 */
import type { CommitLimits, Engine, TableFormats } from '../engine.ts';
import { createEtcdClient, type EtcdClient } from './client/client.ts';
import { toStateError } from './client/failures.ts';
import type { EtcdEngineOptions } from './client/options.ts';
import { modRevisionEquals, put, readKey } from './client/requests.ts';
import { checkRowFormats, decodePosition, encodeHead, withRowFormats } from './head-record.ts';
import { createKeys, type Keys } from './keys.ts';
import { ENGINE_OPERATIONS, FIRST_INDEX, LAYOUT_FORMAT } from './limits.ts';
import { createNode, type EtcdNode } from './node/node.ts';
import { checkPrefix } from './prefix-overlap.ts';

/** The generation of a store without an import. */
const FIRST_GENERATION = '0';

/** Creates the engine. `open` makes the first call to etcd. */
export function etcdEngine(options: EtcdEngineOptions): Engine {
  const client = createEtcdClient(options);
  const limits = commitLimits(options);
  const createdAt = options.clock.monotonic();
  let node: EtcdNode | undefined;

  const opened = (): EtcdNode => {
    if (node === undefined) throw new Error('the engine is not open');
    return node;
  };

  return {
    kind: 'etcd',
    exclusive: false,
    limits,
    async open(identity, follower, signal) {
      const keys = createKeys(options.prefix, identity.storeOnly);
      try {
        await checkPrefix(client, options.prefix, signal);
        await createHead(client, keys, options.id, identity.formats, signal);
      } catch (error) {
        throw toStateError(error);
      }
      node = createNode({ options, client, keys, identity, follower, limits });
      await node.membership.start(signal);
    },
    load: (page, restart, floor, signal) => opened().load(page, restart, floor, signal),
    commit: (commit, signal) => opened().committer.commit(commit, signal),
    reserve: (released) => opened().reserve(released),
    head: (signal) => opened().head(signal),
    scan: (table, range, signal) => opened().scan(table, range, signal),
    import: (head, pages, signal) => opened().import(head, pages, signal),
    publish: (slot, value) => opened().status.publish(slot, value),
    housekeep: (signal) => opened().housekeep(signal),
    space: (signal) => opened().space(signal),
    lastContactMs: () => options.clock.monotonic() - (client.lastAnswerAt() ?? createdAt),
    async [Symbol.asyncDispose]() {
      await node?.close();
      client.close();
    },
  };
}

function commitLimits({ maxTxnOps, maxTxnBytes }: EtcdEngineOptions): CommitLimits {
  const hint = `raise etcd's --max-txn-ops and --max-request-bytes, then etcd.max-txn-ops (${maxTxnOps}) and etcd.max-txn-bytes (${maxTxnBytes})`;
  return { operationsMax: maxTxnOps - ENGINE_OPERATIONS, bytesMax: maxTxnBytes, hint };
}

/**
 * Creates the head if it is missing. If several nodes start together, one of them creates it [ETCD-21].
 * @throws StateError `corrupt` if a head exists that this program cannot read
 */
async function createHead(
  client: EtcdClient,
  keys: Keys,
  id: () => string,
  formats: TableFormats,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const { kv, header } = await readKey(client, keys.head, signal);
    if (kv !== undefined) {
      checkRowFormats(decodePosition(kv).record, formats);
      return;
    }
    const cluster = id();
    const record = {
      format: LAYOUT_FORMAT,
      cluster,
      epoch: 1,
      index: FIRST_INDEX,
      generation: FIRST_GENERATION,
      etcdCluster: String(header.clusterId),
      by: `create/${cluster}`,
    };
    const head = encodeHead(withRowFormats(record, formats));
    const transaction = { compare: [modRevisionEquals(keys.head, 0n)], success: [put(keys.head, head)] };
    await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
  }
}
