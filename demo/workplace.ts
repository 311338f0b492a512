/** The folder in which the demo runs its commands, and the programs that it leaves running meanwhile. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ANSWER_BYTES_MAX, COMMAND_MS_MAX, STOP_MS_MAX } from './limits.ts';
import type { Outcome } from './step.ts';

const REPOSITORY = path.resolve(import.meta.dirname, '..');

/** What every command begins with, and whoever tries them by hand: where the programs are, and no settings from outside. */
const ENVIRONMENT = `# The commands of the demo work as they were shown in a shell that has read this file: . ./env.sh
unset $(env | sed -n 's/^\\(ACCORD_[A-Z_]*\\)=.*/\\1/p') ACCORD_
PATH=${quoted(path.join(REPOSITORY, 'bin'))}:${quoted(path.join(REPOSITORY, 'node_modules', '.bin'))}:$PATH
DEMO=${quoted(import.meta.dirname)}
export PATH DEMO
`;

/** A folder that only this user can read, gone with everything that runs in it once it is disposed of. */
export class Workplace implements AsyncDisposable {
  readonly folder: string;
  readonly #running = new Map<string, ChildProcess>();

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(): Promise<Workplace> {
    const folder = await mkdtemp(path.join(tmpdir(), 'accord-demo-'));
    await writeFile(path.join(folder, 'env.sh'), ENVIRONMENT, { mode: 0o600 });
    return new Workplace(folder);
  }

  /** Runs a command of the shell to its end, which `signal` may bring about. @throws the reason of `signal` */
  async run(command: string, signal: AbortSignal): Promise<Outcome> {
    const child = this.#spawn(command, 'pipe');
    let answer = '';
    const onData = (chunk: string): void => {
      answer = (answer + chunk).slice(0, ANSWER_BYTES_MAX);
    };
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', onData);
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(COMMAND_MS_MAX)]);
    const stop = (): void => endGroup(child);
    bounded.addEventListener('abort', stop, { once: true });
    try {
      const [exitCode] = await once(child, 'close');
      signal.throwIfAborted();
      return { exitCode: exitCode ?? undefined, answer };
    } finally {
      bounded.removeEventListener('abort', stop);
    }
  }

  /** Starts a program that goes on; what it writes goes to the file `NAME.log`. */
  start(name: string, command: string): void {
    const log = openSync(this.#log(name), 'w', 0o600);
    try {
      this.#running.set(name, this.#spawn(`exec ${command}`, log));
    } finally {
      closeSync(log);
    }
  }

  /** What a program that was started has written so far, and whether it still runs. */
  async look(name: string): Promise<Outcome> {
    const child = this.#running.get(name);
    const ended = child?.exitCode ?? (child?.signalCode === null ? undefined : -1);
    return { exitCode: ended, answer: await readFile(this.#log(name), 'utf8') };
  }

  /** Makes a variable known to every command from now on. */
  async set(name: string, value: string): Promise<void> {
    await appendFile(path.join(this.folder, 'env.sh'), `export ${name}=${quoted(value)}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map(end));
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  #log(name: string): string {
    return path.join(this.folder, `${name}.log`);
  }

  /** In a process group of its own: an interruption at the terminal is the demo's to act on, in order. */
  #spawn(command: string, output: 'pipe' | number): ChildProcess {
    return spawn('sh', ['-c', `. ./env.sh\numask 077\n${command}`], {
      cwd: this.folder,
      detached: true,
      stdio: ['ignore', output, output],
    });
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Ends a program that was started: politely, and after a while not. */
async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const patience = new AbortController();
  const tooLong = delay(STOP_MS_MAX, undefined, { signal: patience.signal }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  await ended;
  patience.abort();
  await tooLong;
}

/** Ends a shell with all that it runs. Its process id names the group for as long as it has not ended. */
function endGroup(child: ChildProcess): void {
  if (child.pid !== undefined && !hasEnded(child)) process.kill(-child.pid, 'SIGTERM');
}

/** As one word of the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
