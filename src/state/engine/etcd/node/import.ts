/**
 * Fills an empty store. The rows are put under a new generation, and one transaction makes it the current one. Until
 * then no node sees any of the rows, and housekeeping deletes the rows of a failed import [ETCD-62] [ETCD-65].
 */
import { StateError } from '../../../errors.ts';
import type { Head, StoredRow, TableFormats } from '../../engine.ts';
import type { EtcdClient } from '../client/client.ts';
import { toStateError } from '../client/failures.ts';
import { modRevisionEquals, put, readKey, type TxnOperation, valueEquals } from '../client/requests.ts';
import { decodePosition, encodeHead, withRowFormats } from '../head-record.ts';
import type { Keys } from '../keys.ts';
import { FIRST_INDEX, IMPORT_BYTES_MAX, IMPORT_TRANSACTIONS_MAX } from '../limits.ts';

export interface ImportOptions {
  readonly client: EtcdClient;
  readonly keys: Keys;
  /** The unique name of the new generation. */
  readonly generation: string;
  /** The newest formats that rows of an export can have. */
  readonly formats: TableFormats;
  readonly operationsMax: number;
  readonly bytesMax: number;
}

export async function importRows(
  options: ImportOptions,
  head: Head,
  pages: AsyncIterable<readonly StoredRow[]>,
  signal: AbortSignal,
): Promise<void> {
  const { client, keys, generation, formats } = options;
  try {
    const { kv } = await readKey(client, keys.head, signal);
    if (kv === undefined) throw new StateError('corrupt', 'the head record is gone from etcd');
    const base = decodePosition(kv);
    if (base.record.index !== FIRST_INDEX) throw notEmptyError();
    await putAll(options, pages, signal);
    const record = withRowFormats({ ...base.record, ...head, generation, by: `import/${generation}` }, formats);
    const next = encodeHead(record);
    const transaction = {
      compare: [modRevisionEquals(keys.head, base.modRevision), valueEquals(keys.head, base.encoded)],
      success: [put(keys.head, next)],
    };
    await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
    const { kv: current } = await readKey(client, keys.head, signal);
    // The response of a transaction that was made can be lost, so only the head shows the outcome [ETCD-64].
    if (current === undefined || decodePosition(current).record.generation !== generation) throw notEmptyError();
  } catch (error) {
    throw toStateError(error);
  }
}

/** Puts all rows, a few transactions in parallel. Repeating a put is safe, so each is sent until etcd answers. */
async function putAll(
  options: ImportOptions,
  pages: AsyncIterable<readonly StoredRow[]>,
  signal: AbortSignal,
): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  for await (const operations of transactions(options, pages)) {
    if (inFlight.size >= IMPORT_TRANSACTIONS_MAX) await Promise.race(inFlight);
    const sent = options.client
      .retry((endpoint, call) => endpoint.kv.txn({ success: [...operations] }, call), signal)
      .then(() => {
        inFlight.delete(sent);
      });
    sent.catch(() => {}); // `race` and `all` handle the rejection.
    inFlight.add(sent);
  }
  await Promise.all(inFlight);
}

/** Splits pages of rows into transactions within the commit limits and `IMPORT_BYTES_MAX`. */
async function* transactions(
  { keys, generation, operationsMax, bytesMax }: ImportOptions,
  pages: AsyncIterable<readonly StoredRow[]>,
): AsyncGenerator<readonly TxnOperation[]> {
  let operations: TxnOperation[] = [];
  let size = 0;
  const sizeMax = Math.min(bytesMax, IMPORT_BYTES_MAX);
  for await (const rows of pages) {
    for (const row of rows) {
      const rowSize = Buffer.byteLength(row.key) + Buffer.byteLength(row.value);
      if (operations.length >= operationsMax || (operations.length > 0 && size + rowSize > sizeMax)) {
        yield operations;
        operations = [];
        size = 0;
      }
      operations.push(put(keys.row(generation, row), row.value));
      size += rowSize;
    }
  }
  if (operations.length > 0) yield operations;
}

function notEmptyError(): StateError {
  return new StateError('not-empty', 'the store in etcd already holds a state');
}
