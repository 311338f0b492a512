/**
 * `npm run demo`: what Accord does, on this machine, in real processes. Every step is shown as the command that one would
 * type, and is run so; the demo ends with 1 at the first whose answer is not what it must be. With `-- --keep` everything
 * runs on until it is interrupted.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { peeringChapters } from './peering-chapters.ts';
import { play, StepFailed } from './play.ts';
import { createScreen, type Screen } from './screen.ts';
import type { Chapter } from './step.ts';
import { teamAccessChapters } from './team-access-chapters.ts';
import { Workplace } from './workplace.ts';

/** What ends it early, with the exit code that a shell reports then. A terminal that is closed is SIGHUP. */
const STOPPING = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const USAGE = `usage: npm run demo [-- --keep]
  --keep  leaves both servers running, for whoever wants to try more, until it is interrupted`;

const asked = parseCommandLine();
if (asked === 'help') process.stdout.write(`${USAGE}\n`);
else if (asked === undefined) process.exitCode = EXIT_USAGE;
else process.exitCode = await demonstrateUntilStopped(asked.keep);

/** What is asked for; undefined: it cannot be understood, and was told. */
function parseCommandLine(): { readonly keep: boolean } | 'help' | undefined {
  const option = { type: 'boolean', default: false } as const;
  try {
    const { values } = parseArgs({ options: { keep: option, help: { ...option, short: 'h' } } });
    return values.help ? 'help' : values;
  } catch (error) {
    process.stderr.write(`demo: ${(error as Error).message}\n${USAGE}\n`);
    return undefined;
  }
}

/** @returns the exit code */
function demonstrateUntilStopped(keep: boolean): Promise<number> {
  const stop = new AbortController();
  for (const [name, exitCode] of Object.entries(STOPPING)) {
    // More than once, for npm sends on what the terminal has sent already: cleaning up is bounded, and not cut short.
    process.on(name, () => stop.abort(exitCode));
  }
  // Whoever reads may leave early (`npm run demo | head`).
  process.stdout.on('error', () => stop.abort(EXIT_FAILED));
  return demonstrate(createScreen(process.stdout), keep, stop.signal);
}

/** @returns the exit code */
async function demonstrate(screen: Screen, keep: boolean, signal: AbortSignal): Promise<number> {
  const begin = performance.now();
  const hasDig = spawnSync('dig', ['-v']).status === 0;
  const chapters: readonly Chapter[] = [...peeringChapters(hasDig), ...teamAccessChapters];
  await using workplace = await Workplace.create();
  const count = chapters.flatMap(({ steps }) => steps).length;
  screen.say(`Accord in ${count} steps, each run as it is shown, in ${workplace.folder}`);
  try {
    await play(chapters, workplace, screen, signal);
  } catch (error) {
    if (signal.aborted) {
      screen.say('', 'Interrupted: what was started is ended, and the folder removed.');
      return signal.reason;
    }
    if (!(error instanceof StepFailed)) throw error;
    screen.failure(error.message, ...error.complaints);
    return EXIT_FAILED;
  }
  screen.success(`All ${count} steps held, in ${((performance.now() - begin) / 1_000).toFixed(1)} s.`);
  if (keep) await untilStopped(screen, workplace, signal);
  return 0;
}

/** Leaves everything as it is for whoever wants to try more; to be interrupted is the way to end it. */
async function untilStopped(screen: Screen, { folder }: Workplace, signal: AbortSignal): Promise<void> {
  screen.say(
    '',
    'It runs on. Every command above works in another terminal, after',
    `  cd ${folder} && . ./env.sh`,
    'The servers are at $WEST and $EAST (DNS on port $EAST_DNS); their first credentials are in',
    `  ${folder}/west/credentials.json`,
    `  ${folder}/east/credentials.json`,
    'Ctrl-C ends it and removes the folder.',
  );
  if (!signal.aborted) await once(signal, 'abort');
}
