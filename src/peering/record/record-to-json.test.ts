import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Compile } from 'typebox/schema';
import type { Stored } from '../../state/table.ts';
import {
  markDeleted,
  newPeering,
  type Peering,
  type Role,
  streamLost,
  streamOpened,
  streamOpenFailed,
  terminatedByPeer,
} from './record.ts';
import {
  createRecordJsonCache,
  peeringToJson,
  recordListSchema,
  recordSchema,
  type StreamTimes,
} from './record-to-json.ts';

const stored = (row: unknown): Stored<Peering> => ({ row: row as Peering, createIndex: 7, modifyIndex: 9 });

const SINCE = '2030-01-01T00:00:00.000Z';
const FAILING = { since: SINCE, reason: 'heartbeat timeout' };

function begin(role: Role): Peering {
  const fields = { id: '11111111-2222-4333-8444-555555555555', name: 'East', partition: 'eu', role, meta: {} };
  const peer = { id: '99999999-2222-4333-8444-555555555555', serverName: 's', addresses: ['a:1'], manual: false };
  return newPeering(role === 'dialing' ? { ...fields, peer } : fields);
}

/** Rows in all states. */
function inEveryState(role: Role): Readonly<Record<string, unknown>> {
  const initial = begin(role);
  const active = streamOpened(initial, { node: 'a', incarnation: 'i' });
  return {
    initial,
    refused: streamOpenFailed(initial, FAILING),
    active,
    lost: active && streamLost(active, 1, FAILING),
    terminated: active && terminatedByPeer(active),
    deleted: active && markDeleted(active, SINCE),
  };
}

describe('stateToJson [PEER-22] [PEER-24]', () => {
  const rows: readonly (readonly [Role, state: string, ours: string, consul: string])[] = [
    ['accepting', 'initial', 'INITIAL', 'PENDING'],
    ['accepting', 'refused', 'INITIAL', 'FAILING'],
    ['accepting', 'active', 'ACTIVE', 'ACTIVE'],
    ['accepting', 'lost', 'INITIAL', 'FAILING'],
    ['accepting', 'terminated', 'TERMINATED', 'TERMINATED'],
    ['accepting', 'deleted', 'TERMINATED', 'DELETING'],
    ['dialing', 'initial', 'INITIAL', 'ESTABLISHING'],
    ['dialing', 'refused', 'INITIAL', 'FAILING'],
    ['dialing', 'active', 'ACTIVE', 'ACTIVE'],
    ['dialing', 'lost', 'INITIAL', 'FAILING'],
    ['dialing', 'terminated', 'TERMINATED', 'TERMINATED'],
    ['dialing', 'deleted', 'TERMINATED', 'DELETING'],
  ];
  for (const [role, state, ours, consul] of rows) {
    test(`returns ${ours}, or ${consul} with compat: consul, for ${role} ${state}`, () => {
      const row = stored(inEveryState(role)[state]);
      const shown = peeringToJson(row, {});
      assert.equal(shown.State, ours);
      assert.equal(peeringToJson(row, { consul: true }).State, consul);
      const isFailing = consul === 'FAILING';
      assert.deepEqual(shown.Failing, isFailing ? { Since: SINCE, Reason: 'heartbeat timeout' } : undefined);
      assert.equal(shown.DeletedAt, state === 'deleted' ? SINCE : undefined);
      assert.equal(shown.Remote === undefined, state === 'deleted');
    });
  }
});

describe('peeringToJson', () => {
  test('returns all fields in the documented order', () => {
    const row = {
      ...(inEveryState('dialing')['lost'] as Peering),
      meta: { env: 'prod' },
      imported: ['web'],
      exported: ['db'],
      remote: { partition: '', datacenter: 'dc2' },
    };
    const times = { heartbeatMs: 0, receiveMs: 1, sendMs: 2 };
    assert.equal(
      JSON.stringify(peeringToJson(stored(row), { times, listed: true })),
      '{"ID":"11111111-2222-4333-8444-555555555555","Name":"East","State":"INITIAL","Partition":"eu",' +
        '"PeerID":"99999999-2222-4333-8444-555555555555","PeerServerName":"s","PeerServerAddresses":["a:1"],' +
        '"StreamStatus":{"ImportedServices":["web"],"ExportedServices":["db"],' +
        '"LastHeartbeat":"1970-01-01T00:00:00.000Z","LastReceive":"1970-01-01T00:00:00.001Z","LastSend":"1970-01-01T00:00:00.002Z"},' +
        '"Meta":{"env":"prod"},"CreateIndex":7,"ModifyIndex":9,"Remote":{"Partition":"","Datacenter":"dc2"},' +
        `"Failing":{"Since":"${SINCE}","Reason":"heartbeat timeout"}}`,
    );
  });

  test('returns all keys of StreamStatus with compat: consul [PEER-102]', () => {
    const shown = peeringToJson(stored(begin('accepting')), { consul: true, times: { receiveMs: 0 } });
    assert.equal(
      JSON.stringify(shown.StreamStatus),
      '{"ImportedServices":null,"ExportedServices":[],"LastHeartbeat":null,"LastReceive":"1970-01-01T00:00:00.000Z","LastSend":null}',
    );
  });

  test('matches the schema in every state, with and without compat: consul', () => {
    for (const consul of [false, true]) {
      const one = Compile(recordSchema(consul));
      const many = Compile(recordListSchema(consul));
      for (const role of ['accepting', 'dialing'] as const) {
        for (const [state, row] of Object.entries(inEveryState(role))) {
          for (const times of [undefined, {}, { heartbeatMs: 0, receiveMs: 1, sendMs: 2 }]) {
            const shown = (listed: boolean): unknown =>
              JSON.parse(JSON.stringify(peeringToJson(stored(row), { consul, times, listed })));
            assert.ok(one.Check(shown(false)), `${role} ${state}`);
            assert.ok(many.Check([shown(true)]), `${role} ${state}`);
            assert.ok(!many.Check([shown(false)]));
          }
        }
      }
    }
  });
});

describe('RecordJsonCache', () => {
  test('serializes a row once per version and tick', () => {
    let times: StreamTimes = { receiveMs: 0 };
    const lookups: string[] = [];
    const streams = {
      tick: 0,
      of(id: string) {
        lookups.push(id);
        return times;
      },
    };
    const texts = createRecordJsonCache(streams, false);
    const row = stored(begin('accepting'));
    const first = texts.read(row);
    assert.equal(texts.read(row), first);
    assert.equal(texts.listed(row), texts.listed(row));
    assert.notEqual(texts.listed(row), first.text);
    assert.equal(lookups.length, 2);
    times = { receiveMs: 1_000 };
    assert.equal(texts.read(row), first, 'the same tick');
    streams.tick += 1;
    assert.match(texts.read(row).text, /"LastReceive":"1970-01-01T00:00:01.000Z"/);
    assert.match(texts.listed(row), /"LastReceive":"1970-01-01T00:00:01.000Z"/);
    assert.match(texts.read({ ...row, modifyIndex: 10 }).text, /"ModifyIndex":10/);
  });
});
