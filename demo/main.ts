/**
 * `npm run demo`: shows what Accord does, with real processes on this machine. Each step prints a shell command, runs
 * it, and checks its output; the demo exits with 1 after the first failing step. With `-- --keep` the servers keep
 * running until the demo is interrupted.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { peeringChapters } from './peering-chapters.ts';
import { play, StepFailed } from './play.ts';
import { Sandbox } from './sandbox.ts';
import { createScreen, type Screen } from './screen.ts';
import type { Chapter } from './step.ts';
import { teamAccessChapters } from './team-access-chapters.ts';

/** Signals that end the demo early, with the exit code that a shell reports. Closing the terminal sends SIGHUP. */
const STOPPING = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const USAGE = `usage: npm run demo [-- --keep]
  --keep  keep both servers running until the demo is interrupted`;

const options = parseCommandLine();
if (options === 'help') process.stdout.write(`${USAGE}\n`);
else if (options === undefined) process.exitCode = EXIT_USAGE;
else process.exitCode = await runUntilStopped(options.keep);

/** Parses the command line. Prints the usage and returns `undefined` if it is invalid. */
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
function runUntilStopped(keep: boolean): Promise<number> {
  const stop = new AbortController();
  for (const [name, exitCode] of Object.entries(STOPPING)) {
    // Handles every occurrence, because npm forwards signals that the terminal has already sent, and cleanup must
    // finish.
    process.on(name, () => stop.abort(exitCode));
  }
  // The reader of the output may close it early (`npm run demo | head`).
  process.stdout.on('error', () => stop.abort(EXIT_FAILED));
  return runDemo(createScreen(process.stdout), keep, stop.signal);
}

/** @returns the exit code */
async function runDemo(screen: Screen, keep: boolean, signal: AbortSignal): Promise<number> {
  const begin = performance.now();
  const hasDig = spawnSync('dig', ['-v']).status === 0;
  const chapters: readonly Chapter[] = [...peeringChapters(hasDig), ...teamAccessChapters];
  await using sandbox = await Sandbox.create();
  const count = chapters.flatMap(({ steps }) => steps).length;
  screen.print(`Accord in ${count} steps. Each command runs as shown, in ${sandbox.folder}`);
  try {
    await play(chapters, sandbox, screen, signal);
  } catch (error) {
    if (signal.aborted) {
      screen.print('', 'Interrupted. All programs were stopped and the folder was removed.');
      return signal.reason;
    }
    if (!(error instanceof StepFailed)) throw error;
    screen.failure(error.message, ...error.failures);
    return EXIT_FAILED;
  }
  screen.success(`All ${count} steps passed, in ${((performance.now() - begin) / 1_000).toFixed(1)} s.`);
  if (keep) await untilStopped(screen, sandbox, signal);
  return 0;
}

/** Keeps everything running until the demo is interrupted. */
async function untilStopped(screen: Screen, { folder }: Sandbox, signal: AbortSignal): Promise<void> {
  screen.print(
    '',
    'The servers keep running. Every command above works in another terminal, after',
    `  cd ${folder} && . ./env.sh`,
    'The servers are at $WEST and $EAST (DNS on port $EAST_DNS). Their first credentials are in',
    `  ${folder}/west/credentials.json`,
    `  ${folder}/east/credentials.json`,
    'Press Ctrl-C to stop them and remove the folder.',
  );
  if (!signal.aborted) await once(signal, 'abort');
}
