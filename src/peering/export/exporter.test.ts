import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { deregistered, type Fields, registered } from '../../../test/support/peering/catalog.ts';
import { exporting, written } from '../../../test/support/peering/entries.ts';
import { lateState, startExporter, startPeer, type TestExporter } from '../../../test/support/peering/exporting.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { nextTurn } from '../../state/clock/next-turn.ts';
import { catalogServices } from '../catalog/tables/catalog-service.ts';

const web = (port: number): Fields => ({ Service: { Service: 'web', Port: port } });

describe('the exporter', () => {
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

  test('gives a peer what the entry allows, and the list first', async () => {
    await registered(api);
    await registered(api, { Service: { Service: 'db' } });
    await written(api, exporting({ web: ['east'] }));
    const east = startPeer(exporter, 'EAST');
    const west = startPeer(exporter, 'west');
    assert.deepEqual(east.takeAll(), ['list', 'service/web']);
    assert.deepEqual(east.has, { web: ['n1/web:80'] });
    assert.deepEqual(west.takeAll(), ['list']);
    assert.deepEqual(west.has, {});
  });

  test('tells a change to those alone who get the service, and encodes it once for all of them', async () => {
    await registered(api);
    await registered(api, { Service: { Service: 'db' } });
    const names = Array.from({ length: 100 }, (_, i) => `peer-${i}`);
    await written(api, exporting({ web: names, db: ['other'] }));
    const peers = names.map((name) => startPeer(exporter, name));
    const other = startPeer(exporter, 'other');
    for (const peer of [...peers, other]) peer.takeAll();
    const before = exporter.encodings;
    await registered(api, web(81));
    for (const peer of peers) assert.deepEqual(peer.takeAll(), ['service/web']);
    assert.equal(exporter.encodings, before + 1);
    assert.deepEqual(other.waiting, []);
    for (const peer of peers) assert.deepEqual(peer.has, { web: ['n1/web:81'] });
  });

  test('does not send again what looks the same to peers', async () => {
    const check = (Output: string) => ({ Name: 'c', Status: 'passing', ServiceID: 'web', Output });
    await registered(api, { Check: check('one') });
    await written(api, exporting({ web: ['east'] }));
    const east = startPeer(exporter, 'east');
    east.takeAll();
    const { modifyIndex } = api.state.snapshot.all(catalogServices)[0] ?? {};
    await registered(api, { Check: check('two') });
    assert.notEqual(api.state.snapshot.all(catalogServices)[0]?.modifyIndex, modifyIndex);
    assert.deepEqual(east.waiting, []);
  });

  test('does not send what was changed and changed back before it could be sent', async () => {
    await registered(api);
    await written(api, exporting({ web: ['east'] }));
    const east = startPeer(exporter, 'east');
    east.takeAll();
    await registered(api, web(81));
    await registered(api, web(80));
    assert.deepEqual(east.takeAll(), []);
  });

  test('tells everybody of a change that one of them has read already', async () => {
    await registered(api);
    await written(api, exporting({ web: ['east', 'west'] }));
    const east = startPeer(exporter, 'east');
    const west = startPeer(exporter, 'west');
    for (const peer of [east, west]) peer.takeAll();
    await registered(api, web(81));
    assert.deepEqual(east.waiting, ['service/web']);
    const changing = registered(api, web(82));
    // What east takes here may be the old picture or the new one.
    for (let turn = 0; turn < 50; turn++) {
      east.takeAll();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await changing;
    for (const peer of [east, west]) peer.takeAll();
    assert.deepEqual([east.has, west.has], [{ web: ['n1/web:82'] }, { web: ['n1/web:82'] }]);
  });

  test('says that a service is gone, and names it no more', async () => {
    await registered(api);
    await registered(api, { Service: { Service: 'db' } });
    await written(api, exporting({ '*': ['east'] }));
    const east = startPeer(exporter, 'east');
    east.takeAll();
    await deregistered(api, { Node: 'n1', ServiceID: 'web' });
    assert.deepEqual(east.takeAll().toSorted(), ['list', 'service/web']);
    assert.deepEqual(Object.keys(east.has), ['db']);
  });

  test('says so of everything on a node that is gone', async () => {
    await registered(api);
    await registered(api, { Service: { Service: 'db' } });
    await registered(api, { Node: 'n2', Service: { Service: 'db' } });
    await written(api, exporting({ '*': ['east'] }));
    const east = startPeer(exporter, 'east');
    east.takeAll();
    await deregistered(api, { Node: 'n1' });
    await until('all of it is told', () => east.waiting.length === 3);
    east.takeAll();
    assert.deepEqual(east.has, { db: ['n2/db:0'] });
  });

  test('an un-exported service is missing from the list alone', async () => {
    await registered(api);
    await registered(api, { Service: { Service: 'db' } });
    await written(api, exporting({ web: ['east'], db: ['east'] }));
    const east = startPeer(exporter, 'east');
    east.takeAll();
    await written(api, exporting({ db: ['east'] }));
    assert.deepEqual(east.takeAll(), ['list']);
    assert.deepEqual(Object.keys(east.has), ['db']);
  });

  test('gives no content that the entry of now does not allow, whatever was to be sent before', async () => {
    await registered(api);
    await written(api, exporting({ web: ['east'] }));
    const east = startPeer(exporter, 'east');
    await written(api, exporting({}));
    east.takeAll();
    assert.deepEqual([east.has, east.lists], [{}, 1]);
  });

  test('a service that is exported later, by a line or by a wildcard, is sent then', async () => {
    await registered(api);
    const east = startPeer(exporter, 'east');
    assert.deepEqual(east.takeAll(), ['list']);
    await written(api, exporting({ web: ['east'] }));
    assert.deepEqual(east.takeAll(), ['list', 'service/web']);
    await written(api, exporting({ '*': ['east'] }));
    assert.deepEqual(east.takeAll(), []);
    await registered(api, { Service: { Service: 'db' } });
    assert.deepEqual(east.takeAll(), ['list', 'service/db']);
  });

  test('a service too large for a message is reported and not sent; the others go on', async () => {
    await written(api, exporting({ '*': ['east'] }));
    const east = startPeer(exporter, 'east');
    east.takeAll();
    const meta = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`key-${i}`, 'x'.repeat(512)]));
    const large = (i: number) => ({ Node: `n${i}`, Service: { Service: 'big', Meta: meta } });
    await Promise.all(Array.from({ length: 260 }, (_, i) => registered(api, large(i))));
    await registered(api);
    east.takeAll();
    assert.equal(east.tooLarge.length, 1);
    assert.match(east.tooLarge[0] ?? '', /^big [89]\d{6}$/);
    assert.deepEqual(Object.keys(east.has), ['web']);
    await deregistered(api, { Node: 'n1' });
    await registered(api, web(81));
    east.takeAll();
    assert.deepEqual(east.has, { web: ['n1/web:81'] });
  });

  test('what a peer has learnt by asking is news when it is otherwise again', async () => {
    await registered(api);
    await written(api, exporting({ web: ['east'] }));
    const late = lateState(api.state);
    await using behind = startExporter(late.state);
    const told: string[] = [];
    const east = behind.follow(
      { partition: 'default', peerName: 'east' },
      { listChanged: () => void told.push('list'), serviceChanged: (service) => void told.push(service) },
    );
    assert.ok(east.content('web'));
    await written(api, exporting({}));
    assert.equal(east.content('web'), undefined);
    assert.deepEqual(told.splice(0), ['list']);
    await written(api, exporting({ web: ['east'] }));
    late.release();
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    assert.deepEqual(told.toSorted(), ['list', 'web']);
  });

  test('partitions keep what they export apart', async () => {
    await api.makePartitions('eu');
    await registered(api, { Partition: 'eu', ...web(1) });
    await registered(api, web(2));
    await written(api, exporting({ web: ['east'] }, { Name: 'eu', Partition: 'eu' }));
    const here = startPeer(exporter, 'east');
    const there = startPeer(exporter, 'east', 'eu');
    here.takeAll();
    there.takeAll();
    assert.deepEqual([here.has, there.has], [{}, { web: ['n1/web:1'] }]);
    await registered(api, web(3));
    assert.deepEqual([here.waiting, there.waiting], [[], []]);
  });

  test('keeps no bytes for peers that have left, and encodes for none', async () => {
    await registered(api);
    await written(api, exporting({ web: ['east'] }));
    const east = startPeer(exporter, 'east');
    east.takeAll();
    east.end();
    const before = exporter.encodings;
    await registered(api, web(81));
    assert.equal(exporter.encodings, before);
    const again = startPeer(exporter, 'east');
    again.takeAll();
    assert.deepEqual(again.has, { web: ['n1/web:81'] });
  });
});
