import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ConfigEntry, type EntryOf, WILDCARD } from './config-entry.ts';
import { exportsOfEntry } from './exported-services.ts';
import { matchingExportRule } from './matching-export-rule.ts';

type Entry = EntryOf<'exported-services'>;

const entryOf = (...lines: readonly (readonly [service: string, ...peers: string[]])[]): Entry =>
  ({
    kind: 'exported-services',
    services: lines.map(([name, ...peers]) => ({ name, consumers: peers.map((peer) => ({ peer })) })),
  }) as unknown as ConfigEntry as Entry;

const decide = (entry: Entry | undefined, service: string): string => {
  const decision = matchingExportRule(entry, { service, peerName: 'east' });
  return 'line' in decision ? `${decision.kind} ${decision.line.index} ${decision.line.name}` : decision.kind;
};

test('returns the line of the service, otherwise the line *, and prefers a line that names the peer', () => {
  const entry = entryOf(['*', 'east'], ['db', 'west'], ['DB', 'East'], ['api', 'west']);
  assert.equal(decide(entry, 'web'), 'exported 0 *');
  assert.equal(decide(entry, 'Db'), 'exported 2 DB');
  assert.equal(decide(entry, 'api'), 'other-consumers 3 api');
  assert.equal(decide(entryOf(['db', 'east']), 'web'), 'no-line');
  assert.equal(decide(undefined, 'web'), 'no-entry');
  assert.equal(decide(entry, 'Consul'), 'never');
});

test('agrees with exportsOfEntry for random entries', () => {
  const name = fc.constantFrom('web', 'WEB', 'db', 'consul', WILDCARD);
  const line = fc.tuple(name, fc.subarray(['east', 'EAST', 'west'])).map(([of, peers]) => [of, ...peers] as const);
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), fc.constantFrom('Web', 'db', 'x', 'accord'), (lines, service) => {
      const entry = entryOf(...lines);
      const { names } = exportsOfEntry(entry, 'east', [service]);
      assert.equal(matchingExportRule(entry, { service, peerName: 'east' }).kind === 'exported', names.length === 1);
    }),
  );
});
