/** Kills a program before each step that changes files, and lets the caller examine what is left. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

const PRELOAD = new URL('./kill-at-step.ts', import.meta.url).href;

export interface KillStepsOptions {
  /** A directory for the copies. */
  readonly folder: string;
  /** The data directory at the start of each run, which stays as it is. */
  readonly original: string;
  /** The arguments of Node.js for a run in this directory. */
  readonly program: (directory: string) => readonly string[];
  /** Whether the program ends by itself. Otherwise it is killed once its output matches. Default: it ends. */
  readonly isDone?: RegExp;
  /** Runs as many kills as this, spread over all steps. Default: one at each step. */
  readonly kills?: number;
  /** Examines the directory after a kill. */
  readonly verify: (directory: string, step: number) => Promise<void> | void;
}

/** @returns the number of steps of a run that is not killed */
export async function killAtEachStep(options: KillStepsOptions): Promise<number> {
  const { folder, original, kills, verify } = options;
  const directory = path.join(folder, 'run');
  const run = async (killAt: number): Promise<number> => {
    const steps = path.join(folder, 'steps');
    rmSync(steps, { force: true });
    rmSync(directory, { recursive: true, force: true });
    cpSync(original, directory, { recursive: true });
    const signal = await runProgram(options, directory, { ACCORD_TEST_STEPS: steps, ACCORD_TEST_KILL_AT: `${killAt}` });
    if (killAt > 0 && signal !== 'SIGKILL') throw new Error(`the program was not killed at step ${killAt}`);
    return statSync(steps).size;
  };
  const total = await run(0);
  await verify(directory, 0);
  const pause = kills === undefined ? 1 : Math.max(1, total / kills);
  for (let at = 1; at <= total; at += pause) {
    await run(Math.floor(at));
    await verify(directory, Math.floor(at));
  }
  return total;
}

async function runProgram(
  { program, isDone }: KillStepsOptions,
  directory: string,
  environment: NodeJS.ProcessEnv,
): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, ['--import', PRELOAD, ...program(directory)], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      output += data.toString();
      if (isDone?.test(output)) child.kill('SIGKILL');
    });
  }
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (signal === null && code !== 0) throw new Error(`the program ended with code ${code}: ${output}`);
  return signal;
}
