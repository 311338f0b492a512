/** Plays steps: shows each, runs it, and holds its answer to what must be true. */
import { setTimeout as delay } from 'node:timers/promises';
import { EVENTUALLY_MS_MAX, LOOK_AGAIN_MS } from './limits.ts';
import type { Screen } from './screen.ts';
import { type Chapter, complaintsAbout, type Outcome, type Step } from './step.ts';
import type { Workplace } from './workplace.ts';

/** A step whose answer is not what it must be. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
  readonly complaints: readonly string[];

  constructor(step: Step, complaints: readonly string[]) {
    super(`this does not hold: ${step.why}`);
    this.complaints = complaints;
  }
}

/** Plays all steps in order. @throws StepFailed at the first that does not hold; the reason of `signal` */
export async function play(
  chapters: readonly Chapter[],
  workplace: Workplace,
  screen: Screen,
  signal: AbortSignal,
): Promise<void> {
  for (const chapter of chapters) {
    screen.heading(chapter);
    for (const step of chapter.steps) await playStep(step, workplace, screen, signal);
  }
}

async function playStep(step: Step, workplace: Workplace, screen: Screen, signal: AbortSignal): Promise<void> {
  screen.question(step);
  const { background } = step;
  if (background !== undefined) workplace.start(background, step.command);
  const ask = (): Promise<Outcome> =>
    background === undefined ? workplace.run(step.command, signal) : workplace.look(background);
  const mayTakeTime = background !== undefined || step.eventually === true;
  const outcome = await settled(step, ask, mayTakeTime ? EVENTUALLY_MS_MAX : 0, signal);
  const complaints = complaintsAbout(step, outcome);
  screen.answer(background === undefined || complaints.length > 0 ? outcome.answer : told(step, outcome.answer));
  if (complaints.length > 0) throw new StepFailed(step, complaints);
  for (const [name, pattern] of Object.entries(step.finds ?? {})) {
    await workplace.set(name, pattern.exec(outcome.answer)?.[1] ?? '');
  }
}

/** The first outcome that holds, or the last one when none does within `ms`. */
async function settled(step: Step, ask: () => Promise<Outcome>, ms: number, signal: AbortSignal): Promise<Outcome> {
  const deadline = performance.now() + ms;
  for (;;) {
    signal.throwIfAborted();
    const outcome = await ask();
    const isOver = step.background !== undefined && outcome.exitCode !== undefined;
    if (isOver || performance.now() >= deadline || complaintsAbout(step, outcome).length === 0) return outcome;
    await delay(LOOK_AGAIN_MS, undefined, { signal });
  }
}

/** Of a log, the lines that the step is about. */
const told = ({ shows = [] }: Step, log: string): string =>
  log
    .split('\n')
    .filter((line) => shows.some((pattern) => pattern.test(line)))
    .join('\n');
