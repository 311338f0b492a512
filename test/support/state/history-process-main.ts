/** The program of `startHistoryProcess`. Runs clients of a state and prints a line for each call and return. */
import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../random.ts';
import { testEngine } from './etcd-node.ts';
import type { HistoryLine, HistoryProcessSettings } from './history-process.ts';
import { openState } from './state.ts';
import { runClients } from './workload.ts';

const settings = JSON.parse(process.argv[2] ?? '') as HistoryProcessSettings;
const { node, seed, endpoints, prefix, pauseMsMax } = settings;
const stdout = 1;
const writeLine = (line: HistoryLine): void => void writeSync(stdout, `${JSON.stringify(line)}\n`);

let lastId = 0;
// The timers of the clock do not keep the process alive. In a server, the listener does.
const alive = setInterval(() => undefined, 1_000);
const state = await openState(testEngine({ endpoints, prefix, leaseMs: 2_000 }), { node });
writeLine({ kind: 'ready' });
await runClients({
  ...settings,
  pause: (random) => delay(random.next() * pauseMsMax),
  state,
  random: createRandom(seed),
  process: `${node}-${seed}`,
  now: () => Number(process.hrtime.bigint()) / 1e6,
  called(operation) {
    const id = ++lastId;
    writeLine({ kind: 'call', id, operation });
    return (outcome) => writeLine({ kind: 'return', id, operation: outcome });
  },
  firstValue: (seed + 1) * 1_000_000,
});
await state[Symbol.asyncDispose]();
clearInterval(alive);
