/**
 * The state in an etcd cluster: several servers, one state.
 *
 * etcd has the consensus, the durability and the order; this makes of it what engine.ts promises. The parts: `keys`
 * (layout), `client` (calls), `membership` (this server as a node), `follow` and `watch` (what was committed), `commit`
 * and `transaction` (committing), `turns` (fairness), `load`, `import`, `status`, `housekeeping`.
 *
 * Options refused: etcd's revision as the index (leased and foreign keys move it), requested progress notices as a
 * proof of being current (they can overtake events), leased writer keys (one that ran out would make a commit that was
 * made look as if it had not been).
 *
 * Traps that remain: a scan in reverse makes etcd read its whole range and sort it, so ask for narrow ones.
 */
import type { CommitLimits, Engine } from '../engine.ts';
import { createEtcdClient } from './client/client.ts';
import { stateErrorOf } from './client/failures.ts';
import type { EtcdEngineOptions } from './client/options.ts';
import { createHead } from './commit/create-head.ts';
import { createKeys } from './keys.ts';
import { OWN_OPERATIONS } from './limits.ts';
import { createNode, type EtcdNode } from './node/node.ts';

/** Makes the engine; nothing is opened before `open`. */
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
      await createHead(client, keys, options.id, signal).catch((error) => {
        throw stateErrorOf(error);
      });
      node = createNode({ options, client, keys, identity, follower, limits });
      await node.membership.start(signal);
    },
    load: (page, restart, floor, signal) => opened().load(page, restart, floor, signal),
    commit: (commit, signal) => opened().committer.commit(commit, signal),
    head: (signal) => opened().head(signal),
    scan: (table, range, signal) => opened().scan(table, range, signal),
    import: (head, pages, signal) => opened().import(head, pages, signal),
    publish: (slot, value) => opened().status.publish(slot, value),
    housekeep: (signal) => opened().housekeep(signal),
    lastContactMs: () => options.clock.monotonic() - (client.answeredAt() ?? createdAt),
    async [Symbol.asyncDispose]() {
      await node?.close();
      client.close();
    },
  };
}

function commitLimits({ maxTxnOps, maxTxnBytes }: EtcdEngineOptions): CommitLimits {
  const hint = `raise etcd's --max-txn-ops and --max-request-bytes, then etcd.max-txn-ops (${maxTxnOps}) and etcd.max-txn-bytes (${maxTxnBytes})`;
  return { operationsMax: maxTxnOps - OWN_OPERATIONS, bytesMax: maxTxnBytes, hint };
}
