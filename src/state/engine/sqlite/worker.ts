/** The worker thread of the SQLite engine. Handles one request at a time [SQLITE-26]. */
import { parentPort, workerData } from 'node:worker_threads';
import { type Database, LayoutError, openDatabase } from './database.ts';
import type { Failure, Request, RequestMessage, ResponseMessage, WorkerSettings } from './messages.ts';

/** Primary result codes of SQLite. */
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

const { simulatedSyncMs } = workerData as WorkerSettings;
const sleepCell = new Int32Array(new SharedArrayBuffer(4));
let database: Database | undefined;

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
      return database.startLoad(request.except);
    case 'head':
      return database.head();
    case 'page':
      return database.nextPage();
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
  const { errcode } = error as { errcode?: number };
  const primary = errcode === undefined ? undefined : errcode & 0xff;
  if (primary === SQLITE_FULL) return { code: 'full', message };
  // After any other failure of a COMMIT, the content of the disk is unknown.
  if (request.kind === 'commit') return { code: 'fatal', message };
  if (primary === SQLITE_CORRUPT || primary === SQLITE_NOTADB) {
    return { code: 'corrupt', message: `${message}; restore it from an export or a backup` };
  }
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
