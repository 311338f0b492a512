/** Checks histories of three processes on three etcd members for linearizability, under all faults. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';
import { createRandom, type Random } from '../support/random.ts';
import { describeViolation, findViolations, type HistoryOperation } from '../support/state/history.ts';
import { type HistoryProcess, startHistoryProcess } from '../support/state/history-process.ts';
import { skipWithout } from '../support/tools.ts';

const SEED = Number(process.env['SEED'] ?? '1');
const RUN_MS = 180_000;
const KEYS = Array.from({ length: 8 }, (_, i) => `k${i}`);
const NODES = ['a', 'b', 'c'];
/** More operations than a process can make before it is killed. */
const OPERATIONS = 1_000_000;

/** Injects one fault and removes it again. */
type Fault = (random: Random) => Promise<void>;

/** Faults of single members, so that two of the three always live, and of the links to them. */
function storeFaults(etcd: EtcdCluster, proxies: readonly FaultProxy[]): Readonly<Record<string, Fault>> {
  return {
    async 'a member is killed'(random) {
      const member = random.pick(etcd.members);
      await member.kill();
      await delay(random.below(3_000));
      await member.start();
    },
    async 'the leader freezes'() {
      const leader = await etcd.leader().catch(() => undefined);
      leader?.freeze();
      await delay(3_000);
      leader?.thaw();
    },
    async 'history is compacted'() {
      const answer = await etcd.call('/v3/kv/range', { key: Buffer.from('x').toString('base64') });
      const { revision } = answer['header'] as { revision: string };
      await etcd.call('/v3/kv/compaction', { revision }).catch(() => undefined);
    },
    async 'links are cut'(random) {
      random.pick(proxies).cut();
    },
    async 'a link is half open'(random) {
      const proxy = random.pick(proxies);
      proxy.silence();
      await delay(random.below(4_000));
      proxy.heal();
    },
    async 'responses are cut'(random) {
      const proxy = random.pick(proxies);
      proxy.filterAnswers(() => (random.chance(0.05) ? 'cut' : 'pass'));
      await delay(random.below(3_000));
      proxy.filterAnswers(undefined);
    },
    async 'a link is slow'(random) {
      const proxy = random.pick(proxies);
      proxy.delay(random.below(30));
      await delay(random.below(3_000));
      proxy.delay(0);
    },
  };
}

describe('histories under faults', { skip: skipWithout('etcd'), timeout: RUN_MS * 3 }, () => {
  it(`are linearizable for three processes on three members, seed ${SEED} [STATE-3] [STATE-4]`, async (t) => {
    await using etcd = await startEtcd({ members: 3 });
    const random = createRandom(SEED);
    const history: HistoryOperation[] = [];
    const stopAt = performance.now() + RUN_MS;
    const proxies: FaultProxy[] = [];
    const processes = new Map<string, HistoryProcess>();
    let started = 0;
    const start = async (node: string): Promise<void> => {
      const own = await Promise.all(etcd.members.map(({ port }) => startProxy(port)));
      proxies.push(...own);
      const endpoints = own.map(({ url }) => url);
      const settings = {
        endpoints,
        prefix: 'long/',
        node,
        seed: ++started,
        keys: KEYS,
        clients: 3,
        operations: OPERATIONS,
        pauseMsMax: 15,
      };
      processes.set(node, await startHistoryProcess(settings, (operation) => history.push(operation)));
    };
    await Promise.all(NODES.map(start));

    const faults: Readonly<Record<string, Fault>> = {
      ...storeFaults(etcd, proxies),
      async 'a process is killed'(own) {
        const node = own.pick(NODES);
        await processes.get(node)?.kill();
        await start(node);
      },
      async 'a process freezes'(own) {
        await processes.get(own.pick(NODES))?.freezeFor(own.below(5_000));
      },
    };
    const injected: string[] = [];
    const injectFaults = async (own: Random): Promise<void> => {
      while (performance.now() < stopAt) {
        const name = own.pick(Object.keys(faults));
        injected.push(name);
        await faults[name]?.(own);
        await delay(own.below(2_000));
      }
    };
    // Faults come one after another. Parallel ones could stop two members, and no write would succeed.
    await injectFaults(random.fork());
    for (const running of processes.values()) await running.kill();
    for (const proxy of proxies) await proxy[Symbol.asyncDispose]();

    const known = history.filter(({ returnedAt }) => returnedAt !== undefined).length;
    t.diagnostic(
      `${history.length} operations, ${history.length - known} of unknown outcome, ${injected.length} faults`,
    );
    for (const node of NODES) {
      const made = history.filter(({ process, action }) => process.startsWith(node) && action.kind !== 'read').length;
      t.diagnostic(`${node}: ${made} writes`);
      assert.ok(made > 100, `${node} made only ${made} writes`);
    }
    const [violation] = findViolations(history);
    if (violation !== undefined) assert.fail(`${describeViolation(violation)}\nafter ${injected.join(', ')}`);
  });
});
