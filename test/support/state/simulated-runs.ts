/** Simulated runs from a seed, and the properties that each of them checks. */
import assert from 'node:assert/strict';
import { sleep } from '../../../src/state/clock/clock.ts';
import type { Random } from '../random.ts';
import { describeViolation, findViolations, type HistoryOperation } from './history.ts';
import {
  createSimulatedCluster,
  type FaultLog,
  injectFaults,
  type SimulatedCluster,
  type SimulatedNode,
} from './simulation.ts';
import { dumpState } from './state.ts';
import { counters } from './tables.ts';
import { recordIn, runClients } from './workload.ts';

const KEYS = ['k0', 'k1', 'k2'];
const CLIENTS = 3;
/** The key of the head, which only commits change. */
const HEAD = 'accord/head';

/** The result of a run, which is the same for the same seed. */
export interface SimulatedRun {
  readonly history: readonly HistoryOperation[];
  readonly faults: FaultLog;
  readonly simulatedMs: number;
}

/**
 * Simulates two or three servers under faults. One of them may vanish and start again. Fails unless the history is
 * linearizable, no client's index falls, and all servers end with the rows that a newly loaded server has. A
 * linearizable history proves that no acknowledged write was lost and that no outcome comes from a discarded batch.
 */
export async function simulateFaults(seed: number): Promise<SimulatedRun> {
  const cluster = createSimulatedCluster(seed);
  const { random, clock } = cluster;
  const history: HistoryOperation[] = [];
  const lastValues = new Map<string, number | undefined>();
  const faults: FaultLog = [];
  let nodes: SimulatedNode[] = [];
  const vanished: SimulatedNode[] = [];
  const calm = new AbortController();

  const serve = async (name: string, run: number, signal: AbortSignal): Promise<void> => {
    const node = await cluster.start(name);
    nodes = [...nodes, node];
    await runClients({
      ...clientOptions(cluster, node, 25),
      process: `${name}.${run}`,
      firstValue: (run * 10 + nodes.length) * 1_000_000,
      called: recordIn(history),
      lastValues,
      signal,
    });
  };
  const serveAndVanish = async (name: string): Promise<void> => {
    const gone = new AbortController();
    const first = serve(name, 0, gone.signal);
    await sleep(clock, 500 + random.below(2_000), new AbortController().signal);
    const node = nodes.find((each) => each.name === name);
    if (node !== undefined && random.chance(0.5)) {
      nodes = nodes.filter((each) => each !== node);
      vanished.push(node);
      gone.abort();
      faults.push(`${clock.monotonic().toFixed(0)} ${name} vanishes`);
      node.link.faults.down = 'gone';
      await serve(name, 1, new AbortController().signal);
    }
    await first;
  };
  const whole = async (): Promise<void> => {
    const forever = new AbortController().signal;
    const serving = [
      serve('a', 0, forever),
      serveAndVanish('b'),
      ...(random.chance(0.5) ? [serve('c', 0, forever)] : []),
    ];
    await sleep(clock, 100, forever);
    const injecting = injectFaults(cluster, () => nodes, faults, calm.signal);
    await Promise.all(serving);
    calm.abort();
    await injecting;
    await sleep(clock, 5_000, forever);
    await compareServers(cluster, nodes, history);
    for (const { state } of [...nodes, ...vanished]) await state[Symbol.asyncDispose]();
  };
  await withFaultLog(faults, () => cluster.drive(whole()));
  return { history, faults, simulatedMs: clock.monotonic() };
}

/**
 * Simulates two servers whose etcd is restored from an older backup. Later acknowledged writes are lost. Fails unless
 * the servers move to a new epoch, no client's index falls, and the history after the restore is linearizable.
 */
export async function simulateRestore(seed: number): Promise<SimulatedRun> {
  const cluster = createSimulatedCluster(seed);
  const { random, clock, etcd } = cluster;
  const forever = new AbortController().signal;
  const history: HistoryOperation[] = [];
  const faults: FaultLog = [];
  const clients = (nodes: readonly SimulatedNode[], phase: number, into: HistoryOperation[]): Promise<unknown> =>
    Promise.all(
      nodes.map((node, i) =>
        runClients({
          ...clientOptions(cluster, node, 12),
          process: `${node.name}.${phase}`,
          firstValue: (phase * 10 + i + 1) * 1_000_000,
          called: recordIn(into),
        }),
      ),
    );
  const whole = async (): Promise<void> => {
    const nodes = [await cluster.start('a'), await cluster.start('b')];
    const epoch = nodes[0]?.state.snapshot.epoch ?? 0;
    const indexes = nodes.map(({ state }) => state.snapshot.index);
    await clients(nodes, 0, []);
    const backup = etcd.backup();
    let isCut = true;
    await Promise.all([
      clients(nodes, 1, []),
      sleep(clock, random.below(400), forever).then(() => {
        const clusterId = random.pick(['same', 'other'] as const);
        faults.push(`${clock.monotonic().toFixed(0)} the store goes back, ${clusterId} cluster`);
        const head = etcd.dump(HEAD).get(HEAD);
        etcd.restore(backup, clusterId);
        // A restore without a commit since the backup loses nothing and cannot be detected.
        isCut = clusterId === 'other' || head !== etcd.dump(HEAD).get(HEAD);
      }),
    ]);
    await sleep(clock, 20_000, forever);
    for (const [i, { state }] of nodes.entries()) {
      assert.equal(state.snapshot.epoch > epoch, isCut, 'the epoch shows the cut of history');
      assert.ok(state.snapshot.index > (indexes[i] ?? 0));
      assert.equal(state.snapshot.epoch, nodes[0]?.state.snapshot.epoch, 'all servers continue in the same epoch');
    }
    const [first] = nodes;
    await first?.state.consistent();
    for (const key of KEYS) {
      const value = first?.state.snapshot.get(counters, key)?.row.value;
      if (value !== undefined)
        history.push({
          process: 'backup',
          key,
          calledAt: 0,
          returnedAt: clock.monotonic(),
          action: { kind: 'write', value },
        });
    }
    await sleep(clock, 1, forever);
    await clients(nodes, 2, history);
    await compareServers(cluster, nodes, history);
    for (const { state } of nodes) await state[Symbol.asyncDispose]();
  };
  await withFaultLog(faults, () => cluster.drive(whole()));
  return { history, faults, simulatedMs: clock.monotonic() };
}

function clientOptions({ random, clock }: SimulatedCluster, { state }: SimulatedNode, operations: number) {
  const forever = new AbortController().signal;
  return {
    state,
    random: random.fork(),
    keys: KEYS,
    clients: CLIENTS,
    operations,
    now: () => clock.monotonic(),
    pause: (own: Random) => sleep(clock, own.below(150), forever),
  };
}

/** Reads all keys on a newly loaded server, compares all servers with it, and checks the history. */
async function compareServers(
  cluster: SimulatedCluster,
  nodes: readonly SimulatedNode[],
  history: HistoryOperation[],
): Promise<void> {
  const verifier = await cluster.start('verifier');
  const calledAt = cluster.clock.monotonic();
  await Promise.all([verifier, ...nodes].map(({ state }) => state.consistent()));
  for (const key of KEYS) {
    const value = verifier.state.snapshot.get(counters, key)?.row.value;
    history.push({
      process: 'verifier',
      key,
      calledAt,
      returnedAt: cluster.clock.monotonic(),
      action: { kind: 'read', value },
    });
  }
  for (const { name, state } of nodes) {
    assert.deepEqual(
      dumpState(state.snapshot),
      dumpState(verifier.state.snapshot),
      `the rows of ${name} differ from those of a newly loaded server`,
    );
    assert.equal(state.snapshot.index, verifier.state.snapshot.index);
  }
  await verifier.state[Symbol.asyncDispose]();
  const [violation] = findViolations(history);
  if (violation !== undefined) assert.fail(describeViolation(violation));
}

/** Runs `action` and adds the injected faults to the message of its error. */
async function withFaultLog(faults: FaultLog, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (cause) {
    throw new Error(`${cause instanceof Error ? cause.message : String(cause)}\nafter:\n${faults.join('\n')}`, {
      cause,
    });
  }
}
