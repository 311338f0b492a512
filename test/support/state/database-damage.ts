/** Damages copies of a database in seeded ways, and checks that each copy is read correctly or refused. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DamageError } from '../../../src/state/engine/sqlite/damage.ts';
import { type Database, openDatabase, resultCode } from '../../../src/state/engine/sqlite/database.ts';
import { type EncodedOperations, type LoadedPage, PUT, REMOVE } from '../../../src/state/engine/sqlite/messages.ts';
import { createRandom, type Random } from '../random.ts';

const SECTOR_BYTES = 512;
/** A table that a load does not read. */
const STORE_ONLY = 'log';
const COMMITS = 60;
/** Commits after which the log is moved to the file, so that rows are in both. */
const CHECKPOINTED = 30;

export interface DamageTrials {
  readonly directory: string;
  readonly trials: number;
  readonly seed: number;
}

/** How many copies were read correctly, and how many were refused. */
export interface DamageCounts {
  readonly right: number;
  readonly refused: number;
}

const encode = (...parts: string[]): EncodedOperations => parts.join('\u0000') as EncodedOperations;

/** Makes commits that add, change, and remove rows. The files stay as a killed process would leave them. */
export function createDatabase(directory: string): void {
  const live = path.join(directory, 'live');
  mkdirSync(live);
  const file = path.join(live, 'accord.db');
  let database = openDatabase(file);
  for (let number = 0; number < COMMITS; number++) {
    if (number === CHECKPOINTED) {
      database.close();
      database = openDatabase(file);
    }
    const value = `[1,${number},${number},{"id":"k${number}","text":"${'x'.repeat(number * 20)}"}]`;
    const operations = [PUT, 'tokens', `k${number}`, value, PUT, STORE_ONLY, `e${number}`, value];
    if (number % 4 === 3) operations.push(REMOVE, 'tokens', `k${number - 2}`, '');
    if (number % 5 === 4) operations.push(PUT, 'tokens', `k${number - 1}`, value);
    const { epoch, index } = database.head();
    assert.equal(
      database.commit(epoch, index, encode(...operations), () => undefined),
      'committed',
    );
  }
  cpSync(live, path.join(directory, 'killed'), { recursive: true });
  database.close();
  cpSync(live, path.join(directory, 'closed'), { recursive: true });
}

/** Reads everything that a server reads at its start, and the store-only rows. */
export function readAll(directory: string): unknown {
  const database = openDatabase(path.join(directory, 'accord.db'));
  try {
    return contentOf(database);
  } finally {
    database.close();
  }
}

function contentOf(database: Database): unknown {
  const head = database.startLoad([STORE_ONLY]);
  const pages: LoadedPage[] = [];
  for (let page = database.nextPage(); page !== undefined; page = database.nextPage()) pages.push(page);
  while (database.verifyStep());
  return { head, pages, log: database.scan(STORE_ONLY, { limit: COMMITS }) };
}

/** @throws AssertionError if a damaged copy is read as if it were whole, and has other content */
export function tryDamages({ directory, trials, seed }: DamageTrials): DamageCounts {
  createDatabase(directory);
  const copy = path.join(directory, 'copy');
  cpSync(path.join(directory, 'killed'), copy, { recursive: true });
  const expected = readAll(copy);
  const random = createRandom(seed);
  let right = 0;
  for (let trial = 0; trial < trials; trial++) {
    rmSync(copy, { recursive: true });
    cpSync(path.join(directory, random.chance(0.7) ? 'killed' : 'closed'), copy, { recursive: true });
    const damage = damageFile(copy, random);
    try {
      assert.deepEqual(readAll(copy), expected, `seed ${seed}, trial ${trial}: ${damage}`);
      right += 1;
    } catch (error) {
      if (!(error instanceof DamageError) && resultCode(error) === undefined) throw error;
    }
  }
  return { right, refused: trials - right };
}

/** Damages the database or its log. @returns a description */
function damageFile(directory: string, random: Random): string {
  const names = readdirSync(directory).filter((name) => name === 'accord.db' || name === 'accord.db-wal');
  const name = random.pick(names);
  const file = path.join(directory, name);
  const bytes = readFileSync(file);
  const offset = random.below(bytes.length);
  const kind = random.pick(['flip', 'flip', 'flip', 'zero', 'truncate'] as const);
  switch (kind) {
    case 'flip':
      bytes[offset] = (bytes[offset] as number) ^ (1 << random.below(8));
      writeFileSync(file, bytes);
      break;
    case 'zero': {
      const start = offset - (offset % SECTOR_BYTES);
      bytes.subarray(start, start + SECTOR_BYTES).fill(0);
      writeFileSync(file, bytes);
      break;
    }
    case 'truncate':
      truncateSync(file, offset);
  }
  return `${kind} at ${offset} of ${name}`;
}
