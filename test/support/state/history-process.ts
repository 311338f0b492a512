/** Starts a process that runs clients of a state in etcd and reports their operations. Tests kill or suspend it. */
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

/** One line of the process's output. */
export type HistoryLine =
  | { readonly kind: 'ready' }
  /** Written before the operation starts. The operation has an unknown outcome until its return is written. */
  | { readonly kind: 'call'; readonly id: number; readonly operation: HistoryOperation }
  | { readonly kind: 'return'; readonly id: number; readonly operation: HistoryOperation | undefined };

export interface HistoryProcess {
  /** Resolves when that many operations have returned. */
  reached(operations: number): Promise<void>;
  /** Sends SIGKILL. Operations in flight have an unknown outcome. */
  kill(): Promise<void>;
  /** Suspends the process for `ms` milliseconds. */
  freezeFor(ms: number): Promise<void>;
  /** Resolves when all operations are done. Rejects if the process ends in another way without `kill`. */
  readonly ended: Promise<void>;
}

/** Starts a process and waits until its state is loaded. `record` receives each operation when its outcome is final. */
export async function startHistoryProcess(
  settings: HistoryProcessSettings,
  record: (operation: HistoryOperation) => void,
): Promise<HistoryProcess> {
  const script = new URL('./history-process-main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, JSON.stringify(settings)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const inFlight = new Map<number, HistoryOperation>();
  const ready = Promise.withResolvers<void>();
  let returned = 0;
  let killed = false;
  const reading = (async () => {
    for await (const text of createInterface({ input: child.stdout })) {
      const line = parseLine(text);
      if (line?.kind === 'ready') ready.resolve();
      if (line?.kind === 'call') inFlight.set(line.id, line.operation);
      if (line?.kind !== 'return') continue;
      inFlight.delete(line.id);
      returned++;
      if (line.operation !== undefined) record(line.operation);
    }
    for (const operation of inFlight.values()) record(operation);
  })();
  const ended = Promise.all([once(child, 'exit'), reading]).then(([[code]]) => {
    const error = new Error(`the process of node ${settings.node} ended with ${code}`);
    ready.reject(error);
    if (code !== 0 && !killed) throw error;
  });
  ended.catch(() => undefined); // The test or `ready` handles the rejection.
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

/** Parses a line. Returns undefined for the last line of a killed process if it is incomplete. */
function parseLine(text: string): HistoryLine | undefined {
  try {
    return JSON.parse(text) as HistoryLine;
  } catch {
    return undefined;
  }
}
