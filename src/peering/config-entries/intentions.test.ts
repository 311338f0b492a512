/** Tests which rule decides a call, with the function and over HTTP ([SVC-86] to [SVC-89]). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mustGet } from '../../../test/support/peering/catalog-requests.ts';
import { intentionEntry, mustWrite } from '../../../test/support/peering/config-entry-requests.ts';
import { mustGenerate } from '../../../test/support/peering/peering-requests.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import { nameEntry, peerings, terminatedByPeer } from '../record/record.ts';
import type { IntentionJson } from './api/intention-to-json.ts';
import { decide, precedenceOf } from './intentions.ts';

interface Checked {
  readonly Allowed: boolean;
  readonly Intention?: IntentionJson;
}

interface Case {
  /** Sources by destination; see `intending`. */
  readonly entries: Readonly<Record<string, readonly string[]>>;
  /** The source of a call to `db`: `web`, `web@east` with a peer, or `web/eu` with a partition. */
  readonly caller: string;
  readonly allowed: boolean;
  /** Destination, source and precedence of the rule that decides. Undefined: the default decides. */
  readonly by?: readonly [destination: string, source: string, precedence: number];
}

const cases: Readonly<Record<string, Case>> = {
  'the default decides when no rule matches': { entries: {}, caller: 'web', allowed: false },
  'an entry for another destination does not match': { entries: { api: ['allow web'] }, caller: 'web', allowed: false },
  'an entry for another source does not match': { entries: { db: ['allow api'] }, caller: 'web', allowed: false },
  'exact on both sides': { entries: { db: ['allow web'] }, caller: 'web', allowed: true, by: ['db', 'web', 9] },
  'names match in any case': { entries: { DB: ['allow Web'] }, caller: 'wEB', allowed: true, by: ['DB', 'Web', 9] },
  'any source': { entries: { db: ['allow *'] }, caller: 'web', allowed: true, by: ['db', '*', 8] },
  'any destination': { entries: { '*': ['allow web'] }, caller: 'web', allowed: true, by: ['*', 'web', 6] },
  'any of both': { entries: { '*': ['allow *'] }, caller: 'web', allowed: true, by: ['*', '*', 5] },
  'exact source beats * within a destination': {
    entries: { db: ['deny *', 'allow web'] },
    caller: 'web',
    allowed: true,
    by: ['db', 'web', 9],
  },
  'exact source beats * in either order': {
    entries: { db: ['deny web', 'allow *'] },
    caller: 'web',
    allowed: false,
    by: ['db', 'web', 9],
  },
  'exact destination beats * with the same source': {
    entries: { db: ['deny web'], '*': ['allow web'] },
    caller: 'web',
    allowed: false,
    by: ['db', 'web', 9],
  },
  'exact destination with any source beats exact source with any destination': {
    entries: { db: ['deny *'], '*': ['allow web'] },
    caller: 'web',
    allowed: false,
    by: ['db', '*', 8],
  },
  'exact source beats * within any destination': {
    entries: { '*': ['deny *', 'allow web'] },
    caller: 'web',
    allowed: true,
    by: ['*', 'web', 6],
  },
  'an entry for the destination without a matching source leaves it to *': {
    entries: { db: ['deny api'], '*': ['allow *'] },
    caller: 'web',
    allowed: true,
    by: ['*', '*', 5],
  },
  'a source of a peer matches that of the peer': {
    entries: { db: ['allow web@east'] },
    caller: 'web@east',
    allowed: true,
    by: ['db', 'web', 9],
  },
  'names of peers match in any case': {
    entries: { db: ['allow web@East'] },
    caller: 'web@eAST',
    allowed: true,
    by: ['db', 'web', 9],
  },
  'a source of a peer never matches a local one [SVC-87]': {
    entries: { db: ['allow web@east'] },
    caller: 'web',
    allowed: false,
  },
  'any source of a peer never matches a local one [SVC-87]': {
    entries: { db: ['allow *@east'] },
    caller: 'web',
    allowed: false,
  },
  'a local source never matches one of a peer [SVC-87]': {
    entries: { db: ['allow web'] },
    caller: 'web@east',
    allowed: false,
  },
  'any local source never matches one of a peer [SVC-87]': {
    entries: { db: ['allow *'] },
    caller: 'web@east',
    allowed: false,
  },
  'any local source of any destination never matches one of a peer': {
    entries: { '*': ['allow *'] },
    caller: 'web@east',
    allowed: false,
  },
  'a source of a missing peer matches nothing [SVC-88]': {
    entries: { db: ['allow web@west'], '*': ['allow *@west'] },
    caller: 'web@west',
    allowed: false,
  },
  'a source of one peer never matches that of another': {
    entries: { db: ['allow web@west', 'allow *@west'] },
    caller: 'web@east',
    allowed: false,
  },
  'equal names of a peer and of this cluster are different sources': {
    entries: { db: ['deny web', 'allow web@east'] },
    caller: 'web@east',
    allowed: true,
    by: ['db', 'web', 9],
  },
  'any source of a peer': { entries: { db: ['allow *@east'] }, caller: 'web@east', allowed: true, by: ['db', '*', 8] },
  'exact source of a peer beats any source of it': {
    entries: { db: ['allow *@east', 'deny web@east'] },
    caller: 'web@east',
    allowed: false,
    by: ['db', 'web', 9],
  },
  'any source of a peer for the destination beats an exact source of it for any destination': {
    entries: { db: ['deny *@east'], '*': ['allow web@east'] },
    caller: 'web@east',
    allowed: false,
    by: ['db', '*', 8],
  },
  'any source of a peer for any destination': {
    entries: { '*': ['allow *@east'] },
    caller: 'web@east',
    allowed: true,
    by: ['*', '*', 5],
  },
  'a source without a partition is in the partition of the entry [SVC-87]': {
    entries: { db: ['allow web'] },
    caller: 'web/other',
    allowed: false,
  },
  'a source with another partition matches calls from it': {
    entries: { db: ['deny web', 'allow web/other'] },
    caller: 'web/OTHER',
    allowed: true,
    by: ['db', 'web', 9],
  },
  'any source of another partition never matches one of the own partition': {
    entries: { db: ['allow */other'] },
    caller: 'web',
    allowed: false,
  },
};

describe('the decision about a call', () => {
  const api = sharedApi();
  let made = 0;

  for (const [name, { entries, caller, allowed, by }] of Object.entries(cases)) {
    test(name, async () => {
      const partition = `p${++made}`;
      await api().makePartitions(partition, 'other');
      // The peer `west` remains missing.
      await mustGenerate(api(), 'East', { Partition: partition });
      for (const [destination, sources] of Object.entries(entries)) {
        await mustWrite(api(), intentionEntry(destination, sources, { Partition: partition }));
      }
      const [, source = '', sourcePeer, sourcePartition] = /^([^@/]+)(?:@(.+))?(?:\/(.+))?$/.exec(caller) ?? [];
      const call = { partition, destination: 'db', source, sourcePeer, sourcePartition };
      const { rule, ...decided } = decide(api().state.snapshot, call, false);
      assert.equal(decided.allowed, allowed);
      assert.deepEqual(rule && [rule.entry.name, rule.source.name, rule.precedence], by);
      const query = new URLSearchParams({ source, destination: 'db', partition });
      if (sourcePeer !== undefined) query.set('source-peer', sourcePeer);
      if (sourcePartition !== undefined) query.set('source-partition', sourcePartition);
      const { Allowed, Intention } = await mustGet<Checked>(api(), `/v1/connect/intentions/check?${query}`);
      assert.equal(Allowed, allowed);
      assert.deepEqual(Intention && [Intention.DestinationName, Intention.SourceName, Intention.Precedence], by);
    });
  }

  test('ignores sources whose peering is TERMINATED [PEER-70] [SVC-88]', async () => {
    await mustGenerate(api(), 'ended');
    await mustWrite(api(), intentionEntry('db', ['allow web@ended']));
    const call = { partition: 'default', destination: 'db', source: 'web', sourcePeer: 'ENDED' };
    assert.equal(decide(api().state.snapshot, call, false).allowed, true);
    await api().state.write((tx) => {
      const row = tx.find(peerings, 'name', nameEntry('default', 'ended'))?.row;
      const ended = row && terminatedByPeer(row);
      assert.ok(ended !== undefined);
      tx.put(peerings, ended);
    });
    assert.deepEqual(decide(api().state.snapshot, call, false), { allowed: false, rule: undefined });
  });

  test('uses the precedences of Consul', () => {
    const all = ['db', '*'].flatMap((destination) => ['web', '*'].map((source) => precedenceOf(destination, source)));
    assert.deepEqual(all, [9, 8, 6, 5]);
  });
});
