import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Fields, mustRegister } from '../../../../test/support/peering/catalog-requests.ts';
import {
  exportEntry,
  intentionEntry,
  mustWrite,
  warningOf,
} from '../../../../test/support/peering/config-entry-requests.ts';
import { mustGenerate } from '../../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi } from '../../../../test/support/process/api.ts';
import { runAtOnce } from '../../../state/clock/slices.ts';
import type { EntryOf } from '../config-entry.ts';
import { exportedDifference } from '../exported-difference.ts';
import { exportsOfEntry } from '../exported-services.ts';

interface Preview {
  readonly Peers: readonly { readonly Peer: string; readonly Gains: string[]; readonly Loses: string[] }[];
  readonly Sources: readonly Fields[];
}

async function previewed(api: Api, body: Fields): Promise<Preview> {
  const { snapshot } = api.state;
  const answer = await api.request('POST', '/v1/config/preview', { body });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(api.state.snapshot, snapshot);
  return answer.json<Preview>();
}

describe('the preview of an exported-services entry [SVC-70]', () => {
  const api = sharedApi();
  /** Returns one line for each peer, such as `east +web +db -api`. */
  const changes = async (body: Fields): Promise<string[]> =>
    (await previewed(api(), body)).Peers.map(({ Peer, Gains, Loses }) =>
      [Peer, ...Gains.map((name) => `+${name}`), ...Loses.map((name) => `-${name}`)].join(' '),
    );

  test('returns what each peer gains and loses and writes nothing', async () => {
    for (const name of ['web', 'db', 'Api']) await mustRegister(api(), { Service: { ID: name, Service: name } });
    assert.deepEqual(await changes(exportEntry({ web: ['East'], mail: ['west'] })), ['East +web', 'west']);
    assert.deepEqual(await changes(exportEntry({ '*': ['east'] })), ['east +Api +db +web']);
    await mustWrite(api(), exportEntry({ '*': ['East'], web: ['east', 'west'] }));
    assert.deepEqual(await changes(exportEntry({ '*': ['East'], WEB: ['west', 'East'] })), ['East', 'west']);
    assert.deepEqual(await changes(exportEntry({ '*': ['east'], db: ['west'] })), ['east -db', 'west +db -web']);
    assert.deepEqual(await changes(exportEntry({})), ['East -Api -db -web', 'west -web']);
  });

  test('contains kind, name and partition and returns the warning of a write', async () => {
    const body = exportEntry({ web: ['nobody'] });
    const answer = await api().request('POST', '/v1/config/preview', { body });
    assert.equal(warningOf(answer), 'peer "nobody" does not exist yet');
    const { Peers: _peers, ...rest } = answer.json<Preview>();
    assert.deepEqual(rest, { Kind: 'exported-services', Name: 'default', Partition: 'default', Sources: [] });
  });

  test('returns 403 without config:write on the entry', async () => {
    const { SecretID: token } = await api().makeToken([
      'config:read@*',
      'config:write@default=web',
      'services:write@*',
    ]);
    const answer = await api().request('POST', '/v1/config/preview', { body: exportEntry({ '*': ['east'] }), token });
    assert.equal(answer.status, 403);
  });
});

test('exportedDifference agrees with exportsOfEntry before and after for random entries', () => {
  const name = fc.constantFrom('*', 'web', 'Web', 'db', 'api', 'consul');
  const peer = fc.constantFrom('east', 'East', 'west');
  const services = ['api', 'consul', 'db', 'mail', 'web'];
  const lines = fc.array(
    fc.record({
      name,
      consumers: fc.array(
        peer.map((one) => ({ peer: one })),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 5 },
  );
  const entry = fc.option(
    lines.map((some): EntryOf<'exported-services'> => {
      return { kind: 'exported-services', name: 'default', partition: 'default', meta: {}, services: some };
    }),
    { nil: undefined },
  );
  fc.assert(
    fc.property(entry, entry, (before, after) => {
      const differences = runAtOnce(exportedDifference(before, after, services));
      for (const asking of ['east', 'west']) {
        const had = exportsOfEntry(before, asking, services).names;
        const will = exportsOfEntry(after, asking, services).names;
        const found = differences.filter((one) => one.peer.toLowerCase() === asking);
        assert.ok(found.length <= 1);
        const { gains, loses } = found[0] ?? { gains: [], loses: [] };
        assert.deepEqual(
          gains,
          will.filter((one) => !had.includes(one)),
        );
        assert.deepEqual(
          loses,
          had.filter((one) => !will.includes(one)),
        );
      }
    }),
    { numRuns: 1_000 },
  );
});

describe('the preview of a service-intentions entry [SVC-70]', () => {
  const api = sharedApi();

  test('returns the sources whose calls the entry would newly allow or deny', async () => {
    await api().makePartitions('eu');
    await mustGenerate(api(), 'east');
    const first = await previewed(api(), intentionEntry('db', ['allow web', 'deny api', 'allow web@East']));
    assert.deepEqual(first.Sources, [
      { Name: 'web', Partition: 'default', Before: 'deny', After: 'allow' },
      { Name: 'web', Peer: 'East', Before: 'deny', After: 'allow' },
    ]);
    assert.deepEqual(first.Peers, []);
    await mustWrite(api(), intentionEntry('db', ['allow web', 'deny api', 'allow web@East']));
    assert.deepEqual((await previewed(api(), intentionEntry('DB', ['allow *', 'deny web/eu']))).Sources, [
      { Name: 'api', Partition: 'default', Before: 'deny', After: 'allow' },
      { Name: 'web', Peer: 'East', Before: 'allow', After: 'deny' },
      { Name: '*', Partition: 'default', Before: 'deny', After: 'allow' },
    ]);
  });

  test('considers the rules of the entry *', async () => {
    await mustWrite(api(), intentionEntry('*', ['allow web']));
    assert.deepEqual((await previewed(api(), intentionEntry('mail', ['allow web', 'allow api']))).Sources, [
      { Name: 'api', Partition: 'default', Before: 'deny', After: 'allow' },
    ]);
    assert.deepEqual((await previewed(api(), intentionEntry('*', ['deny web']))).Sources, [
      { Name: 'web', Partition: 'default', Before: 'allow', After: 'deny' },
    ]);
  });
});
