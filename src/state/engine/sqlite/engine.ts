/** The engine for a single server: one SQLite file, with all of SQLite in a worker thread. */
import { randomUUID } from 'node:crypto';
import { access, constants, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { StateError } from '../../errors.ts';
import { CALLERS_DISK_RESERVE_BYTES_MAX, CALLERS_DISK_RESERVE_SHARE } from '../../limits.ts';
import { makeDirectory } from '../../make-directory.ts';
import type { CommitLimits, Engine, Follower, NodeIdentity, Operation, ScannedRow, StoredRow } from '../engine.ts';
import {
  type EncodedOperations,
  type Failure,
  type LoadedPage,
  PUT,
  REMOVE,
  type Request,
  type ResponseMessage,
  type Responses,
  type ScannedPage,
  type WorkerSettings,
} from './messages.ts';

export interface SqliteEngineOptions {
  /** The directory of the database. It is created if missing [SQLITE-2]. */
  readonly directory: string;
  readonly simulatedSyncMs?: WorkerSettings['simulatedSyncMs'];
}

/** File systems that cannot keep two machines from opening the file at once, by `f_type` of statfs(2) [SQLITE-7]. */
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

/** Rows in one message to the worker during an import. */
const IMPORT_SLICE_ROWS = 5_000;

/** Creates the engine. `open` starts its worker thread and locks the file. */
export function sqliteEngine({ directory, simulatedSyncMs = 0 }: SqliteEngineOptions): Engine {
  const file = path.join(directory, 'accord.db');
  const pidFile = path.join(directory, 'accord.db.pid');
  let thread: WorkerThread | undefined;
  let identity: NodeIdentity | undefined;
  let follower: Follower | undefined;

  const opened = (): { thread: WorkerThread; identity: NodeIdentity; follower: Follower } => {
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
      thread = startWorker(file, { simulatedSyncMs }, (error) => sink.onFatal(error));
      try {
        await thread.request({ kind: 'open', file });
      } catch (error) {
        await thread.end();
        thread = undefined;
        throw await toOpenError(error, file, pidFile);
      }
      // The file serves only the message of a second process, so a full disk may prevent it [SQLITE-11].
      await writeFile(pidFile, `${process.pid}\n`).catch(() => undefined);
      sink.onLiveNodes([{ name: self.node, incarnation: randomUUID() }]);
    },

    async load(page) {
      const { thread: worker, identity: self } = opened();
      const head = await worker.request({ kind: 'load', except: [...self.storeOnly] });
      let next = worker.request({ kind: 'page' });
      for (;;) {
        const current = await next;
        if (current === undefined) break;
        // The worker reads the next page while this thread processes the current one.
        next = worker.request({ kind: 'page' });
        next.catch(() => undefined); // The next iteration handles a failure; until then it must not be unhandled.
        await page(toStoredRows(current));
      }
      await worker.request({ kind: 'verify' });
      return head;
    },

    async commit({ epoch, base, operations }) {
      const { thread: worker, follower: sink } = opened();
      const result = await worker.request({ kind: 'commit', epoch, base, operations: encodeOperations(operations) });
      if (result === 'committed') sink.onCommit({ index: base + 1, operations, own: true });
      return result;
    },

    async head() {
      return opened().thread.request({ kind: 'head' });
    },

    async scan(table, range) {
      return toScannedRows(await opened().thread.request({ kind: 'scan', table, range }));
    },

    async import(head, pages) {
      const { thread: worker } = opened();
      await worker.request({ kind: 'import-begin' });
      try {
        for await (const rows of pages) {
          for (let start = 0; start < rows.length; start += IMPORT_SLICE_ROWS) {
            await worker.request({
              kind: 'import-rows',
              operations: encodeOperations(rows.slice(start, start + IMPORT_SLICE_ROWS)),
            });
          }
        }
        await worker.request({ kind: 'import-commit', head });
      } catch (error) {
        await worker.request({ kind: 'import-rollback' });
        throw error;
      }
    },

    publish() {
      // Status rows are for other nodes, and this engine has none [SQLITE-42].
    },

    async space() {
      const { bavail, bsize, blocks } = await statfs(directory);
      const reserveBytes = Math.min(CALLERS_DISK_RESERVE_BYTES_MAX, (blocks * bsize) / CALLERS_DISK_RESERVE_SHARE);
      // Deletions leave free pages inside the file, which does not shrink.
      const freeBytes = bavail * bsize + (await opened().thread.request({ kind: 'free-bytes' }));
      const reason = `the disk of ${directory} has ${Math.round(freeBytes / 2 ** 20)} MiB left: free space on it`;
      return { freeBytes, reserveBytes, removalBytes: 0, reason };
    },

    lastContactMs: () => 0,

    async [Symbol.asyncDispose]() {
      if (thread === undefined) return;
      const closing = thread;
      thread = undefined;
      await rm(pidFile, { force: true });
      await closing.request({ kind: 'close' }).catch(() => undefined);
      await closing.end();
    },
  };
}

interface WorkerThread {
  /** @throws StateError `outcome-unknown` for a commit that the thread did not answer, or whose sync failed */
  request<R extends Request>(request: R): Promise<Responses[R['kind']]>;
  end(): Promise<void>;
}

interface PendingRequest {
  readonly kind: Request['kind'];
  readonly promise: PromiseWithResolvers<unknown>;
}

function startWorker(file: string, settings: WorkerSettings, onFatal: (error: Error) => void): WorkerThread {
  // In a build, the worker is a `.js` file like this one.
  const extension = path.extname(import.meta.url);
  const worker = new Worker(new URL(`./worker${extension}`, import.meta.url), { workerData: settings });
  const pending = new Map<number, PendingRequest>();
  let lastId = 0;
  let isEnding = false;
  /** Set when the thread has failed or ended. It then gets no further request. */
  let ended: StateError | undefined;
  const stop = (reason: string): StateError => {
    if (ended !== undefined) return ended;
    if (isEnding) {
      ended = new StateError('aborted', 'the database is closed');
    } else {
      ended = new StateError('unavailable', `the database failed: ${reason}; the server stops`);
      onFatal(ended);
    }
    return ended;
  };
  const rejectPending = (reason: string): void => {
    const error = stop(reason);
    for (const { kind, promise } of pending.values()) promise.reject(kind === 'commit' ? outcomeUnknown(error) : error);
    pending.clear();
  };
  worker.on('message', ({ id, response, failure }: ResponseMessage) => {
    if (failure?.code === 'fatal') {
      rejectPending(failure.message);
      return;
    }
    const request = pending.get(id);
    pending.delete(id);
    if (failure === undefined) request?.promise.resolve(response);
    else request?.promise.reject(toStateError(failure.code, failure.message, file));
  });
  worker.on('error', (error) => rejectPending(String(error)));
  worker.on('exit', (code) => rejectPending(`its thread ended with code ${code}`));
  return {
    request<R extends Request>(request: R) {
      if (ended !== undefined) return Promise.reject(ended);
      const promise = Promise.withResolvers<unknown>();
      const id = ++lastId;
      pending.set(id, { kind: request.kind, promise });
      worker.postMessage({ id, request });
      return promise.promise as Promise<Responses[R['kind']]>;
    },
    async end() {
      isEnding = true;
      await worker.terminate();
    },
  };
}

const outcomeUnknown = (cause: StateError): StateError => {
  const text = 'the database failed during the commit: the write may or may not have been committed';
  return new StateError('outcome-unknown', text, { cause, retryAfterSeconds: 5 });
};

function toStateError(code: Exclude<Failure['code'], 'fatal'>, message: string, file: string): StateError {
  if (code === 'corrupt') return new StateError(code, `'${file}' cannot be read: ${message}`);
  if (code !== 'damaged') return new StateError(code, message);
  const ways = [
    'import the newest export into an empty data-dir (accord server --import-file)',
    'start once with --recover, which rebuilds the database from what is whole and keeps the damaged file',
    `export what is whole for your own examination (accord export FILE --offline --data-dir '${path.dirname(file)}')`,
  ];
  return new StateError('corrupt', `'${file}' is damaged: ${message}. Either ${ways.join(', or ')}`);
}

/** Creates the directory if it is missing. @throws StateError `unavailable` if it is unusable [SQLITE-2] [SQLITE-7] */
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
  const fileSystem = NETWORK_FILE_SYSTEMS.get(type >>> 0);
  if (fileSystem !== undefined) {
    const text = `data directory '${directory}' is on ${fileSystem}: SQLite needs a local disk; use a local data-dir, or store etcd`;
    throw new StateError('unavailable', text);
  }
}

/** Adds the file, and for `locked` the process that holds it [SQLITE-12], to the message of a failed `open`. */
async function toOpenError(error: unknown, file: string, pidFile: string): Promise<unknown> {
  if (!(error instanceof StateError)) return error;
  switch (error.code) {
    case 'locked': {
      const pid = (await readFile(pidFile, 'utf8').catch(() => '')).trim();
      const holder = pid === '' ? 'another process' : `process ${pid}`;
      return new StateError('locked', `${holder} is using '${file}': stop that process, or choose another data-dir`);
    }
    case 'corrupt':
      return error;
    default:
      return new StateError(error.code, `'${file}' cannot be opened: ${error.message}`, { cause: error });
  }
}

function encodeOperations(operations: readonly (Operation | StoredRow)[]): EncodedOperations {
  const parts: string[] = [];
  for (const { table, key, value } of operations) {
    parts.push(value === null ? REMOVE : PUT, table, key, value ?? '');
  }
  return parts.join('\u0000') as EncodedOperations;
}

function toStoredRows({ table, keys, values }: LoadedPage): StoredRow[] {
  return keys.map((key, i) => ({ table, key, value: values[i] as string }));
}

function toScannedRows({ table, keys, values }: ScannedPage): ScannedRow[] {
  return keys.map((key, i) => ({ table, key, value: values[i] ?? null }));
}
