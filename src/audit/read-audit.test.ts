import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { openState } from '../../test/support/state/state.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { sqliteEngine } from '../state/engine/sqlite/engine.ts';
import type { State } from '../state/state.ts';
import { defineSchema } from '../state/table.ts';
import { FIRST_PAGE_ENTRIES, PAGE_CHARACTERS, PAGE_ENTRIES, SINCE_TOLERANCE_MS } from './limits.ts';
import { type AuditPage, type AuditQuery, readAudit } from './read-audit.ts';
import { auditLog, recordChange, SYSTEM } from './record.ts';

/** Writes `count` entries, one per commit, every tenth in the partition `eu`. */
async function log(state: State, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const partition = i % 10 === 0 ? 'eu' : 'us';
    const change = { action: 'create', type: 'thing', subject: `${i}`, partition, before: null, after: {} };
    await state.write((tx) => recordChange(tx, SYSTEM, change));
  }
}

const ask = (state: State, query: Partial<AuditQuery>): Promise<AuditPage> =>
  readAudit(
    state,
    {
      sinceMs: 0,
      before: undefined,
      limit: 100,
      scannedMax: 1_000,
      charactersMax: 1_000_000,
      wanted: () => true,
      visible: () => true,
      ...query,
    },
    new AbortController().signal,
  );

/** Records the limits of all scans of `state` from now on. */
function limitsAsked(state: State): number[] {
  const limits: number[] = [];
  const scan = state.scan.bind(state);
  state.scan = (table, range, signal) => {
    limits.push(range.limit);
    return scan(table, range, signal);
  };
  return limits;
}

const subjects = ({ entries }: AuditPage): number[] => entries.map(({ Subject }) => Number(Subject));

describe('reading the audit log', () => {
  test('stops after scannedMax entries and continues from `next` [SRV-92]', async () => {
    await using directory = await temporaryDirectory();
    const schema = defineSchema([auditLog]);
    await using state = await openState(sqliteEngine({ directory: directory.path }), {
      schema,
      clock: createFakeClock(),
    });
    await log(state, 95);
    const inEu: Partial<AuditQuery> = { scannedMax: 30, wanted: ({ partition }) => partition === 'eu' };
    const first = await ask(state, inEu);
    assert.deepEqual(subjects(first), [90, 80, 70]);
    const second = await ask(state, { ...inEu, before: first.next });
    assert.deepEqual(subjects(second), [60, 50, 40]);
    const third = await ask(state, { ...inEu, before: second.next });
    assert.deepEqual(subjects(third), [30, 20, 10]);
    const last = await ask(state, { ...inEu, before: third.next });
    assert.deepEqual([subjects(last), last.next], [[0], undefined]);
  });

  test('stops at charactersMax and reads few large entries at once [SRV-92]', async () => {
    await using directory = await temporaryDirectory();
    const schema = defineSchema([auditLog]);
    const clock = createFakeClock();
    await using state = await openState(sqliteEngine({ directory: directory.path }), { schema, clock });
    const after = 'x'.repeat(PAGE_CHARACTERS / 4);
    const change = { action: 'create', type: 'thing', partition: 'eu', before: null, after };
    for (let i = 0; i < 40; i++) await state.write((tx) => recordChange(tx, SYSTEM, { ...change, subject: `${i}` }));
    const limits = limitsAsked(state);
    const charactersMax = 2.5 * PAGE_CHARACTERS;
    const pages: number[][] = [];
    for (let before: string | undefined, first = true; first || before !== undefined; first = false) {
      const page = await ask(state, { charactersMax, before });
      pages.push(subjects(page));
      before = page.next;
    }
    // Nine entries of a quarter page each, with their other fields, fit into two and a half pages.
    assert.deepEqual(
      pages.map(({ length }) => length),
      [9, 9, 9, 9, 4],
    );
    assert.deepEqual(
      pages.flat(),
      Array.from({ length: 40 }, (_, i) => 39 - i),
    );
    const own = await ask(state, { charactersMax: 1 });
    assert.deepEqual(subjects(own), [39], 'a page contains at least one entry, however long it is');
    limits.length = 0;
    await ask(state, { charactersMax: 100 * PAGE_CHARACTERS });
    assert.deepEqual(limits.slice(0, 3), [FIRST_PAGE_ENTRIES, 3, 3]);
  });

  test('at most doubles the size of a read, and reduces it after a large entry', async () => {
    await using directory = await temporaryDirectory();
    const schema = defineSchema([auditLog]);
    const clock = createFakeClock();
    await using state = await openState(sqliteEngine({ directory: directory.path }), { schema, clock });
    await log(state, 10);
    const after = 'x'.repeat(PAGE_CHARACTERS / 4);
    const large = { action: 'create', type: 'thing', subject: '10', partition: 'eu', before: null, after };
    await state.write((tx) => recordChange(tx, SYSTEM, large));
    await log(state, 3 * FIRST_PAGE_ENTRIES - 1);
    const limits = limitsAsked(state);
    await ask(state, { charactersMax: 10 * PAGE_CHARACTERS });
    // The large entry is the last one of the second page. The ten before it take three pages, the last one partly
    // filled.
    const doubled = [FIRST_PAGE_ENTRIES, 2 * FIRST_PAGE_ENTRIES];
    assert.deepEqual(limits, [...doubled, 3, 6, 12]);
  });

  test('grows reads of small entries up to PAGE_ENTRIES', async () => {
    await using directory = await temporaryDirectory();
    const schema = defineSchema([auditLog]);
    const clock = createFakeClock();
    await using state = await openState(sqliteEngine({ directory: directory.path }), { schema, clock });
    await state.write((tx) => {
      for (let i = 0; i < 3 * PAGE_ENTRIES; i++) {
        const subject = `${i}`;
        const change = { action: 'create', type: 'thing', subject, partition: 'eu', before: null, after: {} };
        recordChange(tx, SYSTEM, change);
      }
    });
    const limits = limitsAsked(state);
    const { entries } = await ask(state, { limit: 10_000, scannedMax: 10_000, charactersMax: 10 * PAGE_CHARACTERS });
    assert.equal(entries.length, 3 * PAGE_ENTRIES);
    assert.deepEqual(limits, [16, 32, 64, 128, 256, PAGE_ENTRIES, PAGE_ENTRIES, PAGE_ENTRIES]);
  });

  test('returns `next` when no examined entry is visible', async () => {
    await using directory = await temporaryDirectory();
    const schema = defineSchema([auditLog]);
    await using state = await openState(sqliteEngine({ directory: directory.path }), {
      schema,
      clock: createFakeClock(),
    });
    await log(state, 20);
    const none: Partial<AuditQuery> = { scannedMax: 15, visible: () => false };
    const first = await ask(state, none);
    assert.deepEqual([first.entries, first.filtered, first.next !== undefined], [[], true, true]);
    const second = await ask(state, { ...none, before: first.next });
    assert.deepEqual([second.entries, second.filtered, second.next], [[], true, undefined]);
  });

  test('omits entries older than sinceMs, and treats a key past the end as the end', async () => {
    await using directory = await temporaryDirectory();
    const schema = defineSchema([auditLog]);
    const clock = createFakeClock();
    await using state = await openState(sqliteEngine({ directory: directory.path }), { schema, clock });
    await log(state, 3);
    clock.advance(1_000);
    const sinceMs = clock.now();
    await log(state, 3);
    const page = await ask(state, { sinceMs, before: '9999999999999999-999999' });
    assert.deepEqual([subjects(page), page.next], [[2, 1, 0], undefined]);
  });

  test('finds entries from before the clock was set back [SRV-93]', async () => {
    await using directory = await temporaryDirectory();
    const schema = defineSchema([auditLog]);
    const clock = createFakeClock();
    await using state = await openState(sqliteEngine({ directory: directory.path }), { schema, clock });
    const sinceMs = clock.now();
    await log(state, 3);
    clock.jump(-3_600_000);
    await log(state, 2);
    assert.deepEqual(subjects(await ask(state, { sinceMs })), [2, 1, 0]);
    const first = await ask(state, { sinceMs, scannedMax: 2 });
    assert.deepEqual([subjects(first), first.next !== undefined], [[], true]);
    assert.deepEqual(subjects(await ask(state, { sinceMs, before: first.next })), [2, 1, 0]);
  });

  test('ends at the first entry older than SINCE_TOLERANCE_MS before sinceMs [SRV-93]', async () => {
    await using directory = await temporaryDirectory();
    const schema = defineSchema([auditLog]);
    const clock = createFakeClock();
    await using state = await openState(sqliteEngine({ directory: directory.path }), { schema, clock });
    await log(state, 40);
    clock.advance(SINCE_TOLERANCE_MS + 1);
    const sinceMs = clock.now();
    await log(state, 2);
    const limits = limitsAsked(state);
    const found = await ask(state, { sinceMs });
    assert.deepEqual([subjects(found), found.next, limits], [[1, 0], undefined, [FIRST_PAGE_ENTRIES]]);
    for (const bound of [{ limit: 2 }, { scannedMax: 2 }]) {
      assert.equal((await ask(state, { sinceMs, ...bound })).next, undefined, 'behind it is nothing to go on for');
    }
    assert.equal((await ask(state, { sinceMs: sinceMs - 1, scannedMax: 10 })).entries.length, 2);
    assert.notEqual((await ask(state, { sinceMs: sinceMs - 1, scannedMax: 10 })).next, undefined);
  });
});
