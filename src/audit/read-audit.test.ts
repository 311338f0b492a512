import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { openState } from '../../test/support/state.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { sqliteEngine } from '../state/sqlite/engine.ts';
import type { State } from '../state/state.ts';
import { defineSchema } from '../state/table.ts';
import { type AuditPage, type AuditQuery, readAudit } from './read-audit.ts';
import { auditLog, recordChange, SYSTEM } from './record.ts';

/** A log of so many entries, one a commit, every tenth of them in the partition `eu`. */
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
      wanted: () => true,
      visible: () => true,
      ...query,
    },
    new AbortController().signal,
  );

const subjects = ({ entries }: AuditPage): number[] => entries.map(({ Subject }) => Number(Subject));

describe('reading the audit log', () => {
  test('reads no more entries than it may, and goes on from there', async () => {
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

  test('may find nothing in what it may read, and still goes on', async () => {
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

  test('counts no entry that is too old, and takes a place past the end for the end', async () => {
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
});
