/** A process of its own that runs clients of a state in etcd and tells what they do, so that it can be killed or frozen. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../until.ts';
import type { HistoryOperation } from './history.ts';

export interface HistoryProcessSettings {
  readonly endpoints: readonly string[];
  readonly prefix: string;
  readonly node: string;
  readonly seed: number;
  readonly keys: readonly string[];
  readonly clients: number;
  readonly operations: number;
  readonly pauseMsMax: number;
}

/** What the process writes, a line each. */
export type HistoryLine =
  | { readonly kind: 'ready' }
  /** Written before the operation is made, as if its outcome would never be known. */
  | { readonly kind: 'call'; readonly id: number; readonly operation: HistoryOperation }
  | { readonly kind: 'return'; readonly id: number; readonly operation: HistoryOperation | undefined };

export interface HistoryProcess {
  /** Resolves when so many operations have returned. */
  reached(operations: number): Promise<void>;
  /** kill -9; what was under way has no known outcome. */
  kill(): Promise<void>;
  freezeFor(ms: number): Promise<void>;
  /** Resolves when its clients have done their operations; rejects when it ends in any other way. */
  readonly ended: Promise<void>;
}

/** Resolves when its state is loaded. `record` gets every operation once the process has ended with it, or has ended. */
export async function startHistoryProcess(
  settings: HistoryProcessSettings,
  record: (operation: HistoryOperation) => void,
): Promise<HistoryProcess> {
  const script = new URL('./history-process-main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, JSON.stringify(settings)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const underWay = new Map<number, HistoryOperation>();
  const ready = Promise.withResolvers<void>();
  let returned = 0;
  let killed = false;
  const reading = (async () => {
    for await (const text of createInterface({ input: child.stdout })) {
      const line = parseLine(text);
      if (line?.kind === 'ready') ready.resolve();
      if (line?.kind === 'call') underWay.set(line.id, line.operation);
      if (line?.kind !== 'return') continue;
      underWay.delete(line.id);
      returned++;
      if (line.operation !== undefined) record(line.operation);
    }
    for (const operation of underWay.values()) record(operation);
  })();
  const ended = Promise.all([once(child, 'exit'), reading]).then(([[code]]) => {
    const error = new Error(`the process of node ${settings.node} ended with ${code}`);
    ready.reject(error);
    if (code !== 0 && !killed) throw error;
  });
  ended.catch(() => undefined); // Awaited by the test, or told by `ready`.
  await ready.promise;
  return {
    ended,
    reached: (operations) => until(`${settings.node} has done ${operations}`, () => returned >= operations, 60_000),
    async kill() {
      killed = true;
      child.kill('SIGKILL');
      await ended;
    },
    async freezeFor(ms) {
      child.kill('SIGSTOP');
      await delay(ms);
      child.kill('SIGCONT');
    },
  };
}

/** The last line of a process that is killed may be cut. */
function parseLine(text: string): HistoryLine | undefined {
  try {
    return JSON.parse(text) as HistoryLine;
  } catch {
    return undefined;
  }
}
