/**
 * Fills an empty store. The rows go into a generation of their own, which one transaction makes the current one: until
 * then nobody sees any of them, and a failed import leaves only keys that the housekeeping removes.
 */

import { StateError } from '../../../errors.ts';
import type { Head, StoredRow } from '../../engine.ts';
import type { EtcdClient } from '../client/client.ts';
import { stateErrorOf } from '../client/failures.ts';
import { holds, put, readKey, type Step, unchangedSince } from '../client/requests.ts';
import { encodeHead, readPosition } from '../head-record.ts';
import type { Keys } from '../keys.ts';
import { FIRST_INDEX, IMPORT_PARALLEL } from '../limits.ts';

export interface ImportOptions {
  readonly client: EtcdClient;
  readonly keys: Keys;
  /** Name of the new generation, used by nobody else. */
  readonly generation: string;
  readonly operationsMax: number;
  readonly bytesMax: number;
}

/** As `Engine.import`. */
export async function importRows(
  options: ImportOptions,
  head: Head,
  pages: AsyncIterable<readonly StoredRow[]>,
  signal: AbortSignal,
): Promise<void> {
  const { client, keys, generation } = options;
  try {
    const { kv } = await readKey(client, keys.head, signal);
    if (kv === undefined) throw new StateError('corrupt', 'the head record is gone from etcd');
    const base = readPosition(kv);
    if (base.record.index !== FIRST_INDEX) throw notEmpty();
    await putAll(options, pages, signal);
    const next = encodeHead({ ...base.record, ...head, generation, by: `import/${generation}` });
    const transaction = {
      compare: [unchangedSince(keys.head, base.modRevision), holds(keys.head, base.text)],
      success: [put(keys.head, next)],
    };
    await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
    const { kv: now } = await readKey(client, keys.head, signal);
    // Read back rather than believed: the answer of a transaction that was made can get lost.
    if (now === undefined || readPosition(now).record.generation !== generation) throw notEmpty();
  } catch (error) {
    throw stateErrorOf(error);
  }
}

/** Puts may be repeated, so each transaction is sent until it is answered; a few at once. */
async function putAll(
  options: ImportOptions,
  pages: AsyncIterable<readonly StoredRow[]>,
  signal: AbortSignal,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  for await (const steps of transactions(options, pages)) {
    if (underWay.size >= IMPORT_PARALLEL) await Promise.race(underWay);
    const sent = options.client
      .retry((endpoint, call) => endpoint.kv.txn({ success: [...steps] }, call), signal)
      .then(() => {
        underWay.delete(sent);
      });
    sent.catch(() => {}); // Rejections are taken by the race and by the last wait.
    underWay.add(sent);
  }
  await Promise.all(underWay);
}

/** Cuts pages of rows into transactions that etcd takes. */
async function* transactions(
  { keys, generation, operationsMax, bytesMax }: ImportOptions,
  pages: AsyncIterable<readonly StoredRow[]>,
): AsyncGenerator<readonly Step[]> {
  let steps: Step[] = [];
  let size = 0;
  for await (const rows of pages) {
    for (const row of rows) {
      const rowSize = Buffer.byteLength(row.key) + Buffer.byteLength(row.value);
      if (steps.length >= operationsMax || (steps.length > 0 && size + rowSize > bytesMax)) {
        yield steps;
        steps = [];
        size = 0;
      }
      steps.push(put(keys.row(generation, row), row.value));
      size += rowSize;
    }
  }
  if (steps.length > 0) yield steps;
}

function notEmpty(): StateError {
  return new StateError('not-empty', 'the store in etcd already holds a state');
}
