/** Linearizability tests: clients of several states use one real etcd under faults, and their histories are checked. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { State } from '../../src/state/state.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';
import { createRandom } from '../support/random.ts';
import { describeViolation, findViolations, type HistoryOperation } from '../support/state/history.ts';
import { startHistoryProcess } from '../support/state/history-process.ts';
import { openState } from '../support/state/state.ts';
import { etcdStore } from '../support/state/store.ts';
import { counters } from '../support/state/tables.ts';
import { recordIn, runClients } from '../support/state/workload.ts';
import { skipWithout } from '../support/tools.ts';

const KEYS = ['k0', 'k1', 'k2', 'k3', 'k4'];

/** Fails with a description of the first violation. */
function assertLinearizable(history: readonly HistoryOperation[]): void {
  const [violation] = findViolations(history);
  if (violation !== undefined) assert.fail(describeViolation(violation));
}

/** Describes the 99th percentile of the duration of a node's operations with a known outcome. */
function p99(history: readonly HistoryOperation[], node: string): string {
  const times = history
    .filter(({ process, returnedAt }) => process.startsWith(node) && returnedAt !== undefined)
    .map(({ calledAt, returnedAt }) => (returnedAt ?? 0) - calledAt)
    .toSorted((a, b) => a - b);
  return `${node}: ${times.length} operations, p99 ${times[Math.floor(times.length * 0.99)]?.toFixed(1)} ms`;
}

const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

describe('histories on one etcd', { skip: skipWithout('etcd'), timeout: 120_000 }, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());

  for (const nodes of [2, 3]) {
    // Verifies [STATE-3] [STATE-4].
    it(`are linearizable for ${nodes} states, one of them 1 to 3 ms farther, and no state starves`, async (t) => {
      await using store = await etcdStore(etcd);
      await using proxy = await startProxy(etcd.first.port);
      const random = createRandom(nodes);
      const jitter = setInterval(() => proxy.delay(1 + random.below(3)), 20);
      const history: HistoryOperation[] = [];
      const rumours = new Map<string, number | undefined>();
      const states: State[] = [];
      for (let node = 0; node < nodes; node++) {
        const endpoints = node === 0 ? [proxy.url] : etcd.urls;
        states.push(await openState(store.engine({ endpoints }), { node: `n${node}` }));
      }
      await Promise.all(
        states.map((state, node) =>
          runClients({
            state,
            random: random.fork(),
            process: `n${node}`,
            keys: KEYS,
            clients: 4,
            operations: 120,
            now: monotonicMs,
            called: recordIn(history),
            lastValues: rumours,
            firstValue: node * 1_000_000,
          }),
        ),
      );
      clearInterval(jitter);
      assertLinearizable(history);
      for (let node = 0; node < nodes; node++) {
        t.diagnostic(p99(history, `n${node}`));
        const made = history.filter(({ process, action }) => process.startsWith(`n${node}`) && action.kind !== 'read');
        assert.ok(made.length > 4 * 120 * 0.6, `n${node} made only ${made.length} writes`);
      }
      await Promise.all(states.map((state) => state.consistent()));
      const [first, ...others] = states.map(({ snapshot }) => snapshot.all(counters));
      for (const rows of others) assert.deepEqual(rows, first);
      for (const state of states) await state[Symbol.asyncDispose]();
    });
  }

  it('are linearizable for two states whose responses are cut at random [STATE-3] [STATE-4]', async () => {
    await using store = await etcdStore(etcd);
    const random = createRandom(11);
    const history: HistoryOperation[] = [];
    const rumours = new Map<string, number | undefined>();
    const nodes: { node: string; proxy: FaultProxy; state: State }[] = [];
    for (const node of ['a', 'b']) {
      const proxy = await startProxy(etcd.first.port);
      nodes.push({ node, proxy, state: await openState(store.engine({ endpoints: [proxy.url] }), { node }) });
      proxy.filterAnswers(() => (random.chance(0.01) ? 'cut' : 'pass'));
    }
    await Promise.all(
      nodes.map(({ node, state }, i) =>
        runClients({
          state,
          random: random.fork(),
          process: node,
          keys: KEYS,
          clients: 4,
          operations: 100,
          now: monotonicMs,
          called: recordIn(history),
          lastValues: rumours,
          firstValue: i * 1_000_000,
        }),
      ),
    );
    for (const { proxy } of nodes) proxy.filterAnswers(undefined);
    assertLinearizable(history);
    for (const { state, proxy } of nodes) {
      await state[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    }
  });

  // Verifies [STATE-4] [STATE-102].
  it('are linearizable for three processes, one restarted and one suspended beyond its lease [STATE-3]', async (t) => {
    const prefix = 'processes/';
    const history: HistoryOperation[] = [];
    const start = (node: string, seed: number) => {
      const settings = {
        endpoints: etcd.urls,
        prefix,
        node,
        seed,
        keys: KEYS,
        clients: 3,
        operations: 250,
        pauseMsMax: 20,
      };
      return startHistoryProcess(settings, (operation) => history.push(operation));
    };
    const [steady, killed, frozen] = await Promise.all(
      ['steady', 'killed', 'frozen'].map((node, seed) => start(node, seed)),
    );
    assert.ok(steady !== undefined && killed !== undefined && frozen !== undefined);
    await Promise.all([
      steady.ended,
      (async () => {
        await killed.reached(150);
        await killed.kill();
        const again = await start('killed', 77);
        await again.ended;
      })(),
      (async () => {
        await frozen.reached(100);
        await frozen.freezeFor(3_500);
        await frozen.ended;
      })(),
    ]);
    assertLinearizable(history);
    for (const node of ['steady', 'killed', 'frozen']) t.diagnostic(p99(history, node));
  });
});
