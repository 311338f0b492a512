/** The worker thread of the SQLite engine. Handles one request at a time [SQLITE-26]. */
import { parentPort, workerData } from 'node:worker_threads';
import { DamageError } from './damage.ts';
import {
  type Database,
  openDatabase,
  resultCode,
  SQLITE_BUSY,
  SQLITE_CORRUPT,
  SQLITE_FULL,
  SQLITE_NOTADB,
} from './database.ts';
import { DiskReserveError } from './disk-space.ts';
import { LayoutError } from './layout.ts';
import type { Failure, Request, RequestMessage, ResponseMessage, WorkerSettings } from './messages.ts';

const { simulatedSyncMs } = workerData as WorkerSettings;
const sleepCell = new Int32Array(new SharedArrayBuffer(4));
let database: Database | undefined;

let isVerifying = false;
/** The first error of `verifyWhileIdle`, for the request `verify`. */
let verificationError: unknown;

/** Verifies the file in steps between the requests of a load, because the main thread is the slower one. */
function verifyWhileIdle(verified: Database): void {
  if (!isVerifying || verified !== database) return;
  try {
    isVerifying = verified.verifyStep();
    setImmediate(verifyWhileIdle, verified);
  } catch (error) {
    isVerifying = false;
    verificationError = error;
  }
}

const simulateSync = (): void => {
  if (simulatedSyncMs > 0) Atomics.wait(sleepCell, 0, 0, simulatedSyncMs);
};

function handle(request: Request): unknown {
  if (request.kind === 'open') database = openDatabase(request.file);
  if (database === undefined) throw new Error('the database is not open');
  switch (request.kind) {
    case 'open':
      return database.head();
    case 'commit':
      return database.commit(request.epoch, request.base, request.operations, simulateSync);
    case 'load':
      isVerifying = true;
      setImmediate(verifyWhileIdle, database);
      return database.startLoad(request.except);
    case 'head':
      return database.head();
    case 'free-bytes':
      return database.freeBytes();
    case 'page':
      return database.nextPage();
    case 'verify':
      if (verificationError !== undefined) throw verificationError;
      while (isVerifying) isVerifying = database.verifyStep();
      return null;
    case 'scan':
      return database.scan(request.table, request.range);
    case 'import-begin':
      if (!database.isEmpty()) throw new NotEmptyError('the database already holds a state');
      database.begin();
      return null;
    case 'import-rows':
      database.put(request.operations);
      return null;
    case 'import-commit':
      database.finishImport(request.head);
      return null;
    case 'import-rollback':
      database.rollbackImport();
      return null;
    case 'close':
      database.close();
      database = undefined;
      return null;
  }
}

class NotEmptyError extends Error {
  override readonly name = 'NotEmptyError';
}

/** Maps an error of SQLite to a failure [SQLITE-32]. */
function toFailure(error: unknown, request: Request): Failure {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof NotEmptyError) return { code: 'not-empty', message };
  if (error instanceof LayoutError) return { code: 'corrupt', message };
  if (error instanceof DamageError) return { code: 'damaged', message };
  const primary = resultCode(error);
  if (primary === SQLITE_FULL || error instanceof DiskReserveError) {
    const detail = primary === SQLITE_FULL ? '' : `; ${message}`;
    return { code: 'full', message: `the disk of the database is full: nothing was written${detail}` };
  }
  // After any other failure of a COMMIT, the content of the disk is unknown.
  if (request.kind === 'commit') return { code: 'fatal', message };
  if (primary === SQLITE_CORRUPT || primary === SQLITE_NOTADB) return { code: 'damaged', message };
  if (request.kind !== 'open') return { code: 'fatal', message };
  return { code: primary === SQLITE_BUSY ? 'locked' : 'unavailable', message };
}

parentPort?.on('message', ({ id, request }: RequestMessage) => {
  let message: ResponseMessage;
  try {
    message = { id, response: handle(request) };
  } catch (error) {
    message = { id, failure: toFailure(error, request) };
  }
  parentPort?.postMessage(message);
  // The thread ends by itself when its port is closed.
  if (request.kind === 'close') parentPort?.close();
});
