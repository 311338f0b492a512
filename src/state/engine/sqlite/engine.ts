/** The embedded engine: one process, one SQLite file, all of SQLite in a worker thread. */
import { randomUUID } from 'node:crypto';
import { access, constants, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { StateError } from '../../errors.ts';
import { makeDirectory } from '../../make-directory.ts';
import type { CommitLimits, Engine, Follower, Identity, Operation, StoredRow } from '../engine.ts';
import {
  type Answers,
  type FlatOperations,
  type LoadedPage,
  PUT,
  REMOVE,
  type Request,
  type WireAnswer,
  type WorkerSettings,
} from './messages.ts';

export interface SqliteEngineOptions {
  /** The directory of the database; made if missing. */
  readonly directory: string;
  /** See `WorkerSettings`. */
  readonly simulatedSyncMs?: number;
}

/** File systems that cannot keep two machines from opening the file at once, by their number in statfs(2). */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
]);

const LIMITS: CommitLimits = {
  operationsMax: Number.POSITIVE_INFINITY,
  bytesMax: Number.POSITIVE_INFINITY,
  hint: 'SQLite sets no limit',
};

/** Rows handed to the worker in one message while importing. */
const IMPORT_SLICE_ROWS = 5_000;

/** Makes the engine; `open` starts its worker thread and takes the lock of the file. */
export function sqliteEngine({ directory, simulatedSyncMs = 0 }: SqliteEngineOptions): Engine {
  const file = path.join(directory, 'accord.db');
  const pidFile = path.join(directory, 'accord.db.pid');
  let thread: Thread | undefined;
  let identity: Identity | undefined;
  let follower: Follower | undefined;

  const opened = (): { thread: Thread; identity: Identity; follower: Follower } => {
    if (thread === undefined || identity === undefined || follower === undefined) {
      throw new StateError('aborted', 'the database is not open');
    }
    return { thread, identity, follower };
  };

  return {
    kind: 'sqlite',
    exclusive: true,
    limits: LIMITS,

    async open(self, sink) {
      await checkDirectory(directory);
      identity = self;
      follower = sink;
      thread = startThread({ simulatedSyncMs }, (error) => sink.onFatal(error));
      try {
        await thread.ask({ kind: 'open', file });
      } catch (error) {
        await thread.end();
        thread = undefined;
        throw await explainOpen(error, file, pidFile);
      }
      // For the message of a second process only, which a full disk may have to do without: the lock is SQLite's and
      // frees itself when this process dies.
      await writeFile(pidFile, `${process.pid}\n`).catch(() => undefined);
      sink.onMembers([{ name: self.node, incarnation: randomUUID(), formats: self.formats }]);
    },

    async load(page) {
      const { thread: worker, identity: self } = opened();
      const head = await worker.ask({ kind: 'load', except: [...self.storeOnly] });
      let next = worker.ask({ kind: 'page' });
      for (;;) {
        const current = await next;
        if (current === undefined) return head;
        // Asked for before the current one is worked on: the worker reads while this thread parses.
        next = worker.ask({ kind: 'page' });
        next.catch(() => undefined); // Its failure is for the turn that awaits it, not for the process.
        await page(storedRows(current));
      }
    },

    async commit({ epoch, base, operations }) {
      const { thread: worker, follower: sink } = opened();
      const result = await worker.ask({ kind: 'commit', epoch, base, operations: flatten(operations) });
      if (result === 'committed') sink.onCommit({ index: base + 1, operations, own: true });
      return result;
    },

    async head() {
      return opened().thread.ask({ kind: 'head' });
    },

    async scan(table, range) {
      return storedRows(await opened().thread.ask({ kind: 'scan', table, range }));
    },

    async import(head, pages) {
      const { thread: worker } = opened();
      await worker.ask({ kind: 'import-begin' });
      try {
        for await (const rows of pages) {
          for (let start = 0; start < rows.length; start += IMPORT_SLICE_ROWS) {
            await worker.ask({
              kind: 'import-rows',
              operations: flatten(rows.slice(start, start + IMPORT_SLICE_ROWS)),
            });
          }
        }
        await worker.ask({ kind: 'import-end', head });
      } catch (error) {
        await worker.ask({ kind: 'import-undo' });
        throw error;
      }
    },

    publish() {
      // There is no other node to tell.
    },

    lastContactMs: () => 0,

    async [Symbol.asyncDispose]() {
      if (thread === undefined) return;
      const closing = thread;
      thread = undefined;
      await rm(pidFile, { force: true });
      await closing.ask({ kind: 'close' }).catch(() => undefined);
      await closing.end();
    },
  };
}

interface Thread {
  ask<R extends Request>(request: R): Promise<Answers[R['kind']]>;
  end(): Promise<void>;
}

function startThread(settings: WorkerSettings, onFatal: (error: Error) => void): Thread {
  // Built, the worker lies beside this file as JavaScript.
  const extension = path.extname(import.meta.url);
  const worker = new Worker(new URL(`./worker${extension}`, import.meta.url), { workerData: settings });
  const pending = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  let ended = false;
  const fatal = (reason: string): StateError => {
    const error = new StateError('corrupt', `the database failed: ${reason}`);
    if (!ended) onFatal(error);
    return error;
  };
  worker.on('message', ({ id, answer, failure }: WireAnswer) => {
    const promise = pending.get(id);
    pending.delete(id);
    if (failure === undefined) promise?.resolve(answer);
    else if (failure.code === 'fatal') promise?.reject(fatal(failure.message));
    else if (failure.code === 'full')
      promise?.reject(new StateError('full', 'the disk of the database is full: nothing was written'));
    else promise?.reject(new StateError(failure.code, failure.message));
  });
  const die = (reason: string): void => {
    const error = ended ? new StateError('aborted', 'the database is closed') : fatal(reason);
    for (const promise of pending.values()) promise.reject(error);
    pending.clear();
  };
  worker.on('error', (error) => die(String(error)));
  worker.on('exit', (code) => die(`its thread ended with code ${code}`));
  return {
    ask<R extends Request>(request: R) {
      const promise = Promise.withResolvers<unknown>();
      const id = ++lastId;
      pending.set(id, promise);
      worker.postMessage({ id, request });
      return promise.promise as Promise<Answers[R['kind']]>;
    },
    async end() {
      ended = true;
      await worker.terminate();
    },
  };
}

async function checkDirectory(directory: string): Promise<void> {
  try {
    await makeDirectory(directory, 0o700);
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    const text = `data directory '${directory}' cannot be used (${reason}): it must be a directory that this user can read and write`;
    throw new StateError('unavailable', text, { cause });
  }
  const { type } = await statfs(directory);
  const network = NETWORK_FILE_SYSTEMS.get(type >>> 0);
  if (network !== undefined) {
    const text = `data directory '${directory}' lies on ${network}: SQLite needs a local disk; use a local data-dir, or store etcd`;
    throw new StateError('unavailable', text);
  }
}

async function explainOpen(error: unknown, file: string, pidFile: string): Promise<unknown> {
  if (!(error instanceof StateError)) return error;
  switch (error.code) {
    case 'locked': {
      const pid = (await readFile(pidFile, 'utf8').catch(() => '')).trim();
      const holder = pid === '' ? 'another process' : `process ${pid}`;
      return new StateError(
        'locked',
        `${holder} is using '${file}': one server a file; stop it, or choose another data-dir`,
      );
    }
    case 'corrupt':
      return new StateError('corrupt', `'${file}' cannot be read: ${error.message}`);
    default:
      return new StateError(error.code, `'${file}' cannot be opened: ${error.message}`, { cause: error });
  }
}

function flatten(operations: readonly (Operation | StoredRow)[]): FlatOperations {
  const parts: string[] = [];
  for (const { table, key, value } of operations) {
    parts.push(value === null ? REMOVE : PUT, table, key, value ?? '');
  }
  return parts.join('\u0000') as FlatOperations;
}

function storedRows({ table, keys, values }: LoadedPage): StoredRow[] {
  return keys.map((key, i) => ({ table, key, value: values[i] as string }));
}
