import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type Fields, mustDeregister, mustRegister } from '../../../test/support/peering/catalog-requests.ts';
import { exportEntry, mustWrite } from '../../../test/support/peering/config-entry-requests.ts';
import {
  delayedState,
  startExporter,
  startPeer,
  type TestExporter,
} from '../../../test/support/peering/test-exporter.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { nextTurn } from '../../state/clock/next-turn.ts';
import { catalogServices } from '../catalog/tables/catalog-service.ts';

const web = (port: number): Fields => ({ Service: { Service: 'web', Port: port } });

describe('exporter', () => {
  let api: Api;
  let exporter: TestExporter;
  beforeEach(async () => {
    api = await startApi();
    exporter = startExporter(api.state);
  });
  afterEach(async () => {
    assert.doesNotMatch(exporter.log(), /"level":"error"/);
    await exporter[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  });

  test('sends the list first and then the services of the entry', async () => {
    await mustRegister(api);
    await mustRegister(api, { Service: { Service: 'db' } });
    await mustWrite(api, exportEntry({ web: ['east'] }));
    const east = startPeer(exporter, 'EAST');
    const west = startPeer(exporter, 'west');
    assert.deepEqual(east.receiveAll(), ['list', 'service/web']);
    assert.deepEqual(east.services, { web: ['n1/web:80'] });
    assert.deepEqual(west.receiveAll(), ['list']);
    assert.deepEqual(west.services, {});
  });

  test('reports a change only to peers that get the service, and encodes it once', async () => {
    await mustRegister(api);
    await mustRegister(api, { Service: { Service: 'db' } });
    const names = Array.from({ length: 100 }, (_, i) => `peer-${i}`);
    await mustWrite(api, exportEntry({ web: names, db: ['other'] }));
    const peers = names.map((name) => startPeer(exporter, name));
    const other = startPeer(exporter, 'other');
    for (const peer of [...peers, other]) peer.receiveAll();
    const before = exporter.encodingCount;
    await mustRegister(api, web(81));
    for (const peer of peers) assert.deepEqual(peer.receiveAll(), ['service/web']);
    assert.equal(exporter.encodingCount, before + 1);
    assert.deepEqual(other.pending, []);
    for (const peer of peers) assert.deepEqual(peer.services, { web: ['n1/web:81'] });
  });

  test('does not send a service again when its payload is the same', async () => {
    const check = (Output: string) => ({ Name: 'c', Status: 'passing', ServiceID: 'web', Output });
    await mustRegister(api, { Check: check('one') });
    await mustWrite(api, exportEntry({ web: ['east'] }));
    const east = startPeer(exporter, 'east');
    east.receiveAll();
    const { modifyIndex } = api.state.snapshot.all(catalogServices)[0] ?? {};
    await mustRegister(api, { Check: check('two') });
    assert.notEqual(api.state.snapshot.all(catalogServices)[0]?.modifyIndex, modifyIndex);
    assert.deepEqual(east.pending, []);
  });

  test('does not send a change that is reverted before it is sent', async () => {
    await mustRegister(api);
    await mustWrite(api, exportEntry({ web: ['east'] }));
    const east = startPeer(exporter, 'east');
    east.receiveAll();
    await mustRegister(api, web(81));
    await mustRegister(api, web(80));
    assert.deepEqual(east.receiveAll(), []);
  });

  test('reports a change to every peer after one of them has read it', async () => {
    await mustRegister(api);
    await mustWrite(api, exportEntry({ web: ['east', 'west'] }));
    const east = startPeer(exporter, 'east');
    const west = startPeer(exporter, 'west');
    for (const peer of [east, west]) peer.receiveAll();
    await mustRegister(api, web(81));
    assert.deepEqual(east.pending, ['service/web']);
    const changing = mustRegister(api, web(82));
    // East may read the old or the new payload here.
    for (let turn = 0; turn < 50; turn++) {
      east.receiveAll();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await changing;
    for (const peer of [east, west]) peer.receiveAll();
    assert.deepEqual([east.services, west.services], [{ web: ['n1/web:82'] }, { web: ['n1/web:82'] }]);
  });

  test('reports a deregistered service and drops it from the list [STREAM-59]', async () => {
    await mustRegister(api);
    await mustRegister(api, { Service: { Service: 'db' } });
    await mustWrite(api, exportEntry({ '*': ['east'] }));
    const east = startPeer(exporter, 'east');
    east.receiveAll();
    await mustDeregister(api, { Node: 'n1', ServiceID: 'web' });
    assert.deepEqual(east.receiveAll().toSorted(), ['list', 'service/web']);
    assert.deepEqual(Object.keys(east.services), ['db']);
  });

  test('reports every service of a deregistered node', async () => {
    await mustRegister(api);
    await mustRegister(api, { Service: { Service: 'db' } });
    await mustRegister(api, { Node: 'n2', Service: { Service: 'db' } });
    await mustWrite(api, exportEntry({ '*': ['east'] }));
    const east = startPeer(exporter, 'east');
    east.receiveAll();
    await mustDeregister(api, { Node: 'n1' });
    await until('all changes are reported', () => east.pending.length === 3);
    east.receiveAll();
    assert.deepEqual(east.services, { db: ['n2/db:0'] });
  });

  test('drops a service that is no longer exported from the list and sends nothing else [STREAM-59]', async () => {
    await mustRegister(api);
    await mustRegister(api, { Service: { Service: 'db' } });
    await mustWrite(api, exportEntry({ web: ['east'], db: ['east'] }));
    const east = startPeer(exporter, 'east');
    east.receiveAll();
    await mustWrite(api, exportEntry({ db: ['east'] }));
    assert.deepEqual(east.receiveAll(), ['list']);
    assert.deepEqual(Object.keys(east.services), ['db']);
  });

  test('returns no payload of a pending service that is no longer exported', async () => {
    await mustRegister(api);
    await mustWrite(api, exportEntry({ web: ['east'] }));
    const east = startPeer(exporter, 'east');
    await mustWrite(api, exportEntry({}));
    east.receiveAll();
    assert.deepEqual([east.services, east.listCount], [{}, 1]);
  });

  test('sends a service when a line or a wildcard starts to export it', async () => {
    await mustRegister(api);
    const east = startPeer(exporter, 'east');
    assert.deepEqual(east.receiveAll(), ['list']);
    await mustWrite(api, exportEntry({ web: ['east'] }));
    assert.deepEqual(east.receiveAll(), ['list', 'service/web']);
    await mustWrite(api, exportEntry({ '*': ['east'] }));
    assert.deepEqual(east.receiveAll(), []);
    await mustRegister(api, { Service: { Service: 'db' } });
    assert.deepEqual(east.receiveAll(), ['list', 'service/db']);
  });

  test('reports a service that exceeds a message, and sends the others [STREAM-50]', async () => {
    await mustWrite(api, exportEntry({ '*': ['east'] }));
    const east = startPeer(exporter, 'east');
    east.receiveAll();
    const meta = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`key-${i}`, 'x'.repeat(512)]));
    const large = (i: number) => ({ Node: `n${i}`, Service: { Service: 'big', Meta: meta } });
    await Promise.all(Array.from({ length: 260 }, (_, i) => mustRegister(api, large(i))));
    await mustRegister(api);
    east.receiveAll();
    assert.equal(east.tooLarge.length, 1);
    assert.match(east.tooLarge[0] ?? '', /^big [89]\d{6}$/);
    assert.deepEqual(Object.keys(east.services), ['web']);
    await mustDeregister(api, { Node: 'n1' });
    await mustRegister(api, web(81));
    east.receiveAll();
    assert.deepEqual(east.services, { web: ['n1/web:81'] });
  });

  test('reports a service again after a read of it returned nothing', async () => {
    await mustRegister(api);
    await mustWrite(api, exportEntry({ web: ['east'] }));
    const late = delayedState(api.state);
    await using behind = startExporter(late.state);
    const reported: string[] = [];
    const east = behind.subscribe(
      { partition: 'default', peerName: 'east' },
      { listChanged: () => void reported.push('list'), serviceChanged: (service) => void reported.push(service) },
    );
    assert.ok(east.payload('web'));
    await mustWrite(api, exportEntry({}));
    assert.equal(east.payload('web'), undefined);
    assert.deepEqual(reported.splice(0), ['list']);
    await mustWrite(api, exportEntry({ web: ['east'] }));
    late.release();
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    assert.deepEqual(reported.toSorted(), ['list', 'web']);
  });

  test('separates the exports of partitions', async () => {
    await api.makePartitions('eu');
    await mustRegister(api, { Partition: 'eu', ...web(1) });
    await mustRegister(api, web(2));
    await mustWrite(api, exportEntry({ web: ['east'] }, { Name: 'eu', Partition: 'eu' }));
    const here = startPeer(exporter, 'east');
    const there = startPeer(exporter, 'east', 'eu');
    here.receiveAll();
    there.receiveAll();
    assert.deepEqual([here.services, there.services], [{}, { web: ['n1/web:1'] }]);
    await mustRegister(api, web(3));
    assert.deepEqual([here.pending, there.pending], [[], []]);
  });

  test('frees payloads of peers that have left and does not encode for them', async () => {
    await mustRegister(api);
    await mustWrite(api, exportEntry({ web: ['east'] }));
    const east = startPeer(exporter, 'east');
    east.receiveAll();
    east.close();
    const before = exporter.encodingCount;
    await mustRegister(api, web(81));
    assert.equal(exporter.encodingCount, before);
    const again = startPeer(exporter, 'east');
    again.receiveAll();
    assert.deepEqual(again.services, { web: ['n1/web:81'] });
  });
});
