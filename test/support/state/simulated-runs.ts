/** What is simulated with a seed, and what must hold then. */
import assert from 'node:assert/strict';
import { sleep } from '../../../src/state/clock/clock.ts';
import type { Random } from '../random.ts';
import { describeViolation, findViolations, type HistoryOperation } from './history.ts';
import { createWorld, type FaultLog, makeFaults, type SimulatedNode, type World } from './simulation.ts';
import { picture } from './state.ts';
import { counters } from './tables.ts';
import { recordIn, runClients } from './workload.ts';

const KEYS = ['k0', 'k1', 'k2'];
const CLIENTS = 3;
/** The key of the head, which only commits move. */
const HEAD = 'accord/head';

/** What a seed gave: the same again whenever it is run. */
export interface SimulatedRun {
  readonly history: readonly HistoryOperation[];
  readonly faults: FaultLog;
  readonly simulatedMs: number;
}

/**
 * Two or three servers under faults, one of which may vanish and be started again. Fails unless the history is
 * linearizable (so nothing acknowledged is lost and no outcome comes from a batch that was undone), no client's index
 * fell, and all servers and one that is freshly loaded hold the same in the end.
 */
export async function simulateFaults(seed: number): Promise<SimulatedRun> {
  const world = createWorld(seed);
  const { random, clock } = world;
  const history: HistoryOperation[] = [];
  const rumours = new Map<string, number | undefined>();
  const faults: FaultLog = [];
  let nodes: SimulatedNode[] = [];
  const vanished: SimulatedNode[] = [];
  const calm = new AbortController();

  const serve = async (name: string, run: number, signal: AbortSignal): Promise<void> => {
    const node = await world.start(name);
    nodes = [...nodes, node];
    await runClients({
      ...clientOptions(world, node, 25),
      process: `${name}.${run}`,
      firstValue: (run * 10 + nodes.length) * 1_000_000,
      called: recordIn(history),
      rumours,
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
    const breaking = makeFaults(world, () => nodes, faults, calm.signal);
    await Promise.all(serving);
    calm.abort();
    await breaking;
    await sleep(clock, 5_000, forever);
    await settle(world, nodes, history);
    for (const { state } of [...nodes, ...vanished]) await state[Symbol.asyncDispose]();
  };
  await explained(faults, () => world.drive(whole()));
  return { history, faults, simulatedMs: clock.monotonic() };
}

/**
 * Two servers whose etcd is put back to an older picture. What was acknowledged since is gone, and nobody can help
 * that; but it is told by a new epoch, no client's index falls, and what comes after is linearizable again.
 */
export async function simulateRestore(seed: number): Promise<SimulatedRun> {
  const world = createWorld(seed);
  const { random, clock, etcd } = world;
  const forever = new AbortController().signal;
  const history: HistoryOperation[] = [];
  const faults: FaultLog = [];
  const clients = (nodes: readonly SimulatedNode[], phase: number, into: HistoryOperation[]): Promise<unknown> =>
    Promise.all(
      nodes.map((node, i) =>
        runClients({
          ...clientOptions(world, node, 12),
          process: `${node.name}.${phase}`,
          firstValue: (phase * 10 + i + 1) * 1_000_000,
          called: recordIn(into),
        }),
      ),
    );
  const whole = async (): Promise<void> => {
    const nodes = [await world.start('a'), await world.start('b')];
    const epoch = nodes[0]?.state.snapshot.epoch ?? 0;
    const indexes = nodes.map(({ state }) => state.snapshot.index);
    await clients(nodes, 0, []);
    const image = etcd.image();
    let cut = true;
    await Promise.all([
      clients(nodes, 1, []),
      sleep(clock, random.below(400), forever).then(() => {
        const cluster = random.pick(['same', 'other'] as const);
        faults.push(`${clock.monotonic().toFixed(0)} the store goes back, ${cluster} cluster`);
        const head = etcd.dump(HEAD).get(HEAD);
        etcd.restore(image, cluster);
        // Put back at once, nothing was lost, and nobody can tell.
        cut = cluster === 'other' || head !== etcd.dump(HEAD).get(HEAD);
      }),
    ]);
    await sleep(clock, 20_000, forever);
    for (const [i, { state }] of nodes.entries()) {
      assert.equal(state.snapshot.epoch > epoch, cut, 'the cut of history is told');
      assert.ok(state.snapshot.index > (indexes[i] ?? 0));
      assert.equal(state.snapshot.epoch, nodes[0]?.state.snapshot.epoch, 'all go on in the same epoch');
    }
    const [first] = nodes;
    await first?.state.consistent();
    for (const key of KEYS) {
      const value = first?.state.snapshot.get(counters, key)?.row.value;
      if (value !== undefined)
        history.push({
          process: 'image',
          key,
          calledAt: 0,
          returnedAt: clock.monotonic(),
          action: { kind: 'write', value },
        });
    }
    await sleep(clock, 1, forever);
    await clients(nodes, 2, history);
    await settle(world, nodes, history);
    for (const { state } of nodes) await state[Symbol.asyncDispose]();
  };
  await explained(faults, () => world.drive(whole()));
  return { history, faults, simulatedMs: clock.monotonic() };
}

function clientOptions({ random, clock }: World, { state }: SimulatedNode, operations: number) {
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

/** Reads everything once more on a server that is freshly loaded, and compares all servers. */
async function settle(world: World, nodes: readonly SimulatedNode[], history: HistoryOperation[]): Promise<void> {
  const judge = await world.start('judge');
  const calledAt = world.clock.monotonic();
  await Promise.all([judge, ...nodes].map(({ state }) => state.consistent()));
  for (const key of KEYS) {
    const value = judge.state.snapshot.get(counters, key)?.row.value;
    history.push({
      process: 'judge',
      key,
      calledAt,
      returnedAt: world.clock.monotonic(),
      action: { kind: 'read', value },
    });
  }
  for (const { name, state } of nodes) {
    assert.deepEqual(
      picture(state.snapshot),
      picture(judge.state.snapshot),
      `${name} holds something else than what is loaded`,
    );
    assert.equal(state.snapshot.index, judge.state.snapshot.index);
  }
  await judge.state[Symbol.asyncDispose]();
  const [violation] = findViolations(history);
  if (violation !== undefined) assert.fail(describeViolation(violation));
}

/** Adds to an error what was done before it. */
async function explained(faults: FaultLog, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (cause) {
    throw new Error(`${cause instanceof Error ? cause.message : String(cause)}\nafter:\n${faults.join('\n')}`, {
      cause,
    });
  }
}
