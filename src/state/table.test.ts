import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { organizations, teams, testSchema, tokens, uses } from '../../test/support/state/tables.ts';
import { defineSchema, defineTable, expiryEntry, indexOf, type OwnerDefinition } from './table.ts';

const table = (name: string, owners: readonly OwnerDefinition<'owner'>[] = [], unique = false) =>
  defineTable<{ id: string }>()({
    name,
    key: (row) => row.id,
    formats: { version: 1 },
    indexes: { owner: unique ? { entry: (row) => row.id, unique } : { entry: (row) => row.id } },
    owners,
  });

describe('defineSchema', () => {
  it('orders owners before the tables they own [STATE-26]', () => {
    const names = testSchema.tables.map(({ name }) => name);
    for (const [owner, owned] of [
      [organizations, teams],
      [teams, tokens],
      [tokens, uses],
    ] as const) {
      assert.ok(names.indexOf(owner.name) < names.indexOf(owned.name));
      assert.deepEqual(
        testSchema.owned.get(owner)?.map((each) => each.table),
        [owned],
      );
    }
  });

  it('marks tables with an owner that can expire, directly or through its owners', () => {
    assert.deepEqual(
      [teams, tokens, uses].map(({ ownersExpire }) => ownersExpire),
      [false, false, true],
    );
  });

  it('rejects contradictory declarations [STATE-26]', () => {
    const owner = table('owner');
    assert.throws(() => defineSchema([owner, table('owner')]), /declared twice/);
    assert.throws(() => defineSchema([table('owned', [{ table: owner, index: 'owner' }])]), /not in the schema/);
    assert.throws(
      () => defineSchema([owner, table('owned', [{ table: owner, index: 'owner' }], true)]),
      /must not be unique/,
    );
    assert.throws(() => indexOf(owner, 'missing'), /no index 'missing'/);
  });
});

describe('expiryEntry', () => {
  it('sorts in the order of the times', () => {
    const times = [0, 9, 10, 999, 1_000, Date.UTC(2030, 0, 1), Date.UTC(9999, 0, 1)];
    const entries = times.map(expiryEntry);
    assert.deepEqual(entries.toSorted(), entries);
    assert.equal(expiryEntry(-5), expiryEntry(0));
  });
});
