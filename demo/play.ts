/** Plays the steps of the demo: prints each, runs it, and checks its output. */
import { setTimeout as delay } from 'node:timers/promises';
import { RETRY_INTERVAL_MS, RETRY_MS_MAX } from './limits.ts';
import type { Sandbox } from './sandbox.ts';
import type { Screen } from './screen.ts';
import { type Chapter, failuresOf, type Outcome, type Step } from './step.ts';

/** A step whose output does not match its expectations. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
  readonly failures: readonly string[];

  constructor(step: Step, failures: readonly string[]) {
    super(`step failed: ${step.title}`);
    this.failures = failures;
  }
}

/** Plays all steps in order. @throws StepFailed for the first failing step; the reason of `signal` */
export async function play(
  chapters: readonly Chapter[],
  sandbox: Sandbox,
  screen: Screen,
  signal: AbortSignal,
): Promise<void> {
  for (const chapter of chapters) {
    screen.heading(chapter);
    for (const step of chapter.steps) await playStep(step, sandbox, screen, signal);
  }
}

async function playStep(step: Step, sandbox: Sandbox, screen: Screen, signal: AbortSignal): Promise<void> {
  screen.step(step);
  const { background } = step;
  if (background !== undefined) sandbox.start(background, step.command);
  const attempt = (): Promise<Outcome> =>
    background === undefined ? sandbox.run(step.command, signal) : sandbox.readLog(background);
  const isRetried = background !== undefined || step.retry === true;
  const outcome = await runUntilMatch(step, attempt, isRetried ? RETRY_MS_MAX : 0, signal);
  const failures = failuresOf(step, outcome);
  screen.output(background === undefined || failures.length > 0 ? outcome.output : matchingLines(step, outcome.output));
  if (failures.length > 0) throw new StepFailed(step, failures);
  for (const [name, pattern] of Object.entries(step.captures ?? {})) {
    await sandbox.set(name, pattern.exec(outcome.output)?.[1] ?? '');
  }
}

/** Retries until the outcome has no failures or `ms` have passed. @returns the last outcome */
async function runUntilMatch(
  step: Step,
  attempt: () => Promise<Outcome>,
  ms: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const deadline = performance.now() + ms;
  for (;;) {
    signal.throwIfAborted();
    const outcome = await attempt();
    const isOver = step.background !== undefined && outcome.exitCode !== undefined;
    if (isOver || performance.now() >= deadline || failuresOf(step, outcome).length === 0) return outcome;
    await delay(RETRY_INTERVAL_MS, undefined, { signal });
  }
}

/** Returns the lines of a log that the step checks. */
const matchingLines = ({ matches = [] }: Step, log: string): string =>
  log
    .split('\n')
    .filter((line) => matches.some((pattern) => pattern.test(line)))
    .join('\n');
