/** The folder in which the demo runs its commands, and the programs that it starts. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { COMMAND_MS_MAX, OUTPUT_BYTES_MAX, STOP_MS_MAX } from './limits.ts';
import type { Outcome } from './step.ts';

const REPOSITORY = path.resolve(import.meta.dirname, '..');

/** The shell file that every command sources: it sets the PATH and removes settings from the environment. */
const ENVIRONMENT = `# Source this file to run the commands of the demo: . ./env.sh
unset $(env | sed -n 's/^\\(ACCORD_[A-Z_]*\\)=.*/\\1/p') ACCORD_
PATH=${shellQuote(path.join(REPOSITORY, 'bin'))}:${shellQuote(path.join(REPOSITORY, 'node_modules', '.bin'))}:$PATH
DEMO=${shellQuote(import.meta.dirname)}
export PATH DEMO
`;

/** A folder that only this user can read. Disposing stops its programs and removes it. */
export class Sandbox implements AsyncDisposable {
  readonly folder: string;
  readonly #running = new Map<string, ChildProcess>();

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(): Promise<Sandbox> {
    const folder = await mkdtemp(path.join(tmpdir(), 'accord-demo-'));
    await writeFile(path.join(folder, 'env.sh'), ENVIRONMENT, { mode: 0o600 });
    return new Sandbox(folder);
  }

  /** Runs a shell command to its end. @throws the reason of `signal`, which stops the command */
  async run(command: string, signal: AbortSignal): Promise<Outcome> {
    const child = this.#spawn(command, 'pipe');
    let output = '';
    const onData = (chunk: string): void => {
      output = (output + chunk).slice(0, OUTPUT_BYTES_MAX);
    };
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', onData);
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(COMMAND_MS_MAX)]);
    const stop = (): void => stopProcessGroup(child);
    bounded.addEventListener('abort', stop, { once: true });
    try {
      const [exitCode] = await once(child, 'close');
      signal.throwIfAborted();
      return { exitCode: exitCode ?? undefined, output };
    } finally {
      bounded.removeEventListener('abort', stop);
    }
  }

  /** Starts a program in the background. Its output goes to the file `NAME.log`. */
  start(name: string, command: string): void {
    const log = openSync(this.#log(name), 'w', 0o600);
    try {
      this.#running.set(name, this.#spawn(`exec ${command}`, log));
    } finally {
      closeSync(log);
    }
  }

  /** Returns the log of a started program and its exit code. */
  async readLog(name: string): Promise<Outcome> {
    const child = this.#running.get(name);
    const ended = child?.exitCode ?? (child?.signalCode === null ? undefined : -1);
    return { exitCode: ended, output: await readFile(this.#log(name), 'utf8') };
  }

  /** Sets a shell variable for later commands. */
  async set(name: string, value: string): Promise<void> {
    await appendFile(path.join(this.folder, 'env.sh'), `export ${name}=${shellQuote(value)}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map(stopProcess));
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  #log(name: string): string {
    return path.join(this.folder, `${name}.log`);
  }

  /** Uses a new process group, so that an interruption at the terminal reaches only the demo. */
  #spawn(command: string, output: 'pipe' | number): ChildProcess {
    return spawn('sh', ['-c', `. ./env.sh\numask 077\n${command}`], {
      cwd: this.folder,
      detached: true,
      stdio: ['ignore', output, output],
    });
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Stops a program with SIGTERM, and with SIGKILL after STOP_MS_MAX. */
async function stopProcess(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timeout = new AbortController();
  const killed = delay(STOP_MS_MAX, undefined, { signal: timeout.signal }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  await ended;
  timeout.abort();
  await killed;
}

/** Stops a shell and its child processes. The process id names the group while the shell runs. */
function stopProcessGroup(child: ChildProcess): void {
  if (child.pid !== undefined && !hasEnded(child)) process.kill(-child.pid, 'SIGTERM');
}

/** Quotes text as one word of the shell. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
