import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { mustDeregister, mustRegister } from '../../../test/support/peering/catalog-requests.ts';
import { type Exports, exportEntry, mustWrite } from '../../../test/support/peering/config-entry-requests.ts';
import { startApi } from '../../../test/support/process/api.ts';
import type { Consumer, EntryOf } from './config-entry.ts';
import {
  consumersInEntry,
  exportsOfEntry,
  exportsTo,
  isExportedTo,
  isNeverExported,
  peersOf,
  watchedExports,
} from './exported-services.ts';

type Entry = EntryOf<'exported-services'>;

const entryOf = (lines: readonly (readonly [name: string, peers: readonly string[]])[]): Entry => ({
  kind: 'exported-services',
  name: 'default',
  partition: 'default',
  meta: {},
  services: lines.map(([name, peers]) => ({ name, consumers: peers.map((peer): Consumer => ({ peer })) })),
});

/** The registered services of the cases below. */
const SERVICES = ['accord', 'api', 'Consul', 'db', 'Web'];

interface Case {
  readonly entry: Exports;
  /** The services that `east` gets. */
  readonly east: readonly string[];
  readonly wildcard?: true;
}

const cases: Readonly<Record<string, Case>> = {
  'exports nothing without a line': { entry: {}, east: [] },
  'exports a line to its consumers only': { entry: { web: ['east'], db: ['west'] }, east: ['Web'] },
  'ignores the case of service names': { entry: { WEB: ['east'] }, east: ['Web'] },
  'ignores the case of peer names': { entry: { db: ['EAST'] }, east: ['db'] },
  'does not export a service that is not registered [SVC-75]': {
    entry: { db: ['east'], mail: ['east'] },
    east: ['db'],
  },
  'counts a repeated consumer once': { entry: { db: ['east', 'East', 'west'] }, east: ['db'] },
  'does not confuse a partition with a peer of that name': { entry: { db: ['partition:east'] }, east: [] },
  'exports all services with *': { entry: { '*': ['east'] }, east: ['api', 'db', 'Web'], wildcard: true },
  'exports * to its consumers only': { entry: { '*': ['west'], db: ['east'] }, east: ['db'] },
  'does not apply * to a service with its own line': {
    entry: { '*': ['east'], db: ['west'] },
    east: ['api', 'Web'],
    wildcard: true,
  },
  'does not apply * to a service with its own line, ignoring case': {
    entry: { '*': ['east'], wEB: ['west'], API: ['west', 'east'] },
    east: ['api', 'db'],
    wildcard: true,
  },
  'does not add the consumers of another line to *': { entry: { '*': ['west'], web: ['east'] }, east: ['Web'] },
  'ignores the line of a missing service when it applies *': {
    entry: { '*': ['east'], mail: ['west'] },
    east: ['api', 'db', 'Web'],
    wildcard: true,
  },
};

describe('an exported-services entry', () => {
  for (const [name, { entry, east, wildcard = false }] of Object.entries(cases)) {
    test(name, () => {
      const lines = exportEntry(entry)['Services'] as { Name: string; Consumers: Record<string, string>[] }[];
      const row: Entry = {
        ...entryOf([]),
        services: lines.map(({ Name, Consumers }) => ({
          name: Name,
          consumers: Consumers.map(({ Peer, Partition = '' }) =>
            Peer === undefined ? { partition: Partition } : { peer: Peer },
          ),
        })),
      };
      assert.deepEqual(exportsOfEntry(row, 'east', SERVICES), { names: east, wildcard });
    });
  }

  test('merges the consumers of lines with the same name [SVC-72]', () => {
    const entry = entryOf([
      ['*', ['a']],
      ['web', ['b']],
      ['*', ['c']],
      ['WEB', ['d', 'B']],
    ]);
    assert.deepEqual(consumersInEntry(entry, 'web').peers, ['b', 'd']);
    assert.deepEqual(consumersInEntry(entry, 'db').peers, ['a', 'c']);
    assert.deepEqual(peersOf(entry), ['a', 'b', 'c', 'd']);
  });

  test('exports nothing when it is missing', () => {
    assert.deepEqual(exportsOfEntry(undefined, 'east', SERVICES), { names: [], wildcard: false });
  });

  test('returns the same consumers object for services without a line of their own', () => {
    const entry = entryOf([
      ['*', ['a']],
      ['web', ['a']],
    ]);
    assert.equal(consumersInEntry(entry, 'x'), consumersInEntry(entry, 'y'));
    assert.notEqual(consumersInEntry(entry, 'x'), consumersInEntry(entry, 'web'));
  });
});

test('never exports the services of the cluster itself [SVC-73]', () => {
  const entry = entryOf([
    ['*', ['east']],
    ['consul', ['east']],
    ['Accord', ['east']],
  ]);
  for (const name of ['consul', 'Consul', 'accord', 'ACCORD']) {
    assert.ok(isNeverExported(name));
    assert.deepEqual(exportsOfEntry(entry, 'east', [name]).names, []);
  }
  assert.ok(!isNeverExported('consul-ui'));
});

/** A direct implementation of [SVC-72] and [SVC-73], for comparison. */
function oracle(entry: Entry, peer: string, services: readonly string[]): string[] {
  const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
  const kept: string[] = [];
  for (const service of services) {
    if (same(service, 'consul') || same(service, 'accord')) continue;
    const own = entry.services.filter(({ name }) => same(name, service));
    const deciding = own.length > 0 ? own : entry.services.filter(({ name }) => name === '*');
    const gets = deciding.some(({ consumers }) => consumers.some((one) => 'peer' in one && same(one.peer, peer)));
    if (gets && !kept.some((one) => same(one, service))) kept.push(service);
  }
  return kept.sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
}

test('exportsOfEntry agrees with the direct implementation for random entries', () => {
  const name = fc.constantFrom('*', 'web', 'Web', 'WEB', 'db', 'api', 'Api', 'mail', 'consul', 'Accord');
  const peer = fc.constantFrom('east', 'East', 'west', 'north');
  const consumer: fc.Arbitrary<Consumer> = fc.oneof(
    peer.map((one) => ({ peer: one })),
    fc.constantFrom('eu', 'east').map((partition) => ({ partition })),
  );
  const line = fc.record({ name, consumers: fc.array(consumer, { maxLength: 4 }) });
  const services = fc.array(
    name.filter((one) => one !== '*'),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), peer, services, (lines, asking, registeredNames) => {
      const entry: Entry = { ...entryOf([]), services: lines };
      assert.deepEqual(exportsOfEntry(entry, asking, registeredNames).names, oracle(entry, asking, registeredNames));
    }),
    { numRuns: 2_000 },
  );
});

describe('exportsTo', () => {
  test("uses the entry and services of the peer's partition", async () => {
    await using api = await startApi();
    await api.makePartitions('Eu');
    await mustRegister(api, { Node: 'n', Service: { Service: 'web' } });
    await mustRegister(api, { Node: 'n', Partition: 'eu', Service: { Service: 'shop' } });
    await mustRegister(api, { Node: 'n', Partition: 'eu', Service: { ID: 'db', Service: 'db' } });
    await mustWrite(api, exportEntry({ '*': ['east'] }));
    await mustWrite(api, exportEntry({ '*': ['east'], db: ['west'] }, { Name: 'eu' }));
    const { snapshot } = api.state;
    const to = (partition: string, peerName: string) => exportsTo(snapshot, { partition, peerName });
    assert.deepEqual(to('default', 'EAST'), { names: ['web'], wildcard: true });
    assert.deepEqual(to('EU', 'east'), { names: ['shop'], wildcard: true });
    assert.deepEqual(to('eu', 'west'), { names: ['db'], wildcard: false });
    assert.deepEqual(to('default', 'west'), { names: [], wildcard: false });
    assert.ok(isExportedTo(snapshot, { partition: 'eu', peerName: 'East' }, 'Anything'));
    assert.ok(!isExportedTo(snapshot, { partition: 'eu', peerName: 'east' }, 'DB'));
  });

  test('changes only with what watchedExports returns', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    const wakes = async (change: () => Promise<unknown>): Promise<boolean> => {
      let woken = false;
      const topics = watchedExports(api.state, 'default').map(({ topic }) => topic);
      const forget = api.state.wait(topics, () => {
        woken = true;
      });
      await change();
      for (let turn = 0; turn < 5; turn++) await new Promise((next) => setImmediate(next));
      forget();
      return woken;
    };
    assert.ok(await wakes(() => mustWrite(api, exportEntry({ '*': ['east'] }))));
    assert.ok(await wakes(() => mustRegister(api, { Node: 'n', Service: { Service: 'web' } })));
    assert.ok(await wakes(() => mustDeregister(api, { Node: 'n' })));
    assert.ok(await wakes(() => api.request('DELETE', '/v1/config/exported-services/default')));
    assert.ok(!(await wakes(() => mustWrite(api, exportEntry({ '*': ['east'] }, { Name: 'eu' })))));
  });
});
