import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { mustRegister } from '../../../../test/support/peering/catalog-requests.ts';
import { exportEntry, mustWrite } from '../../../../test/support/peering/config-entry-requests.ts';
import { startExporter, startPeer, type TestExporter } from '../../../../test/support/peering/test-exporter.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import { outgoingServices } from './outgoing-services.ts';

let api: Api;
let exporter: TestExporter;
beforeEach(async () => {
  api = await startApi();
  exporter = startExporter(api.state);
  await mustWrite(api, exportEntry({ '*': ['east'] }));
});
afterEach(async () => {
  await exporter[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

test('a list is sent only after the previous one is answered, and contains all changes in between [STREAM-58]', async () => {
  const east = startPeer(exporter, 'east');
  east.holdsListAcks = true;
  east.receiveAll();
  for (const Service of ['a', 'b', 'c']) await mustRegister(api, { Service: { Service } });
  assert.deepEqual(east.receiveAll(), ['service/a', 'service/b', 'service/c']);
  assert.equal(east.listCount, 1);
  east.acknowledgeList();
  assert.deepEqual(east.receiveAll(), ['list']);
  assert.equal(east.listCount, 2);
  east.acknowledgeList();
  assert.deepEqual(east.pending, []);
  assert.deepEqual(Object.keys(east.services), ['a', 'b', 'c']);
});

test('a list that is equal to the last sent one is not sent', async () => {
  const east = startPeer(exporter, 'east');
  east.receiveAll();
  await mustRegister(api);
  await api.request('PUT', '/v1/catalog/deregister', { body: { Node: 'n1', ServiceID: 'web' } });
  assert.ok(east.pending.includes('list/exported-service-list'));
  assert.equal(east.receiveAll().includes('list'), false);
});

test('an unchanged service is sent again after a list without it', async () => {
  await mustRegister(api);
  const east = startPeer(exporter, 'east');
  east.receiveAll();
  await mustWrite(api, exportEntry({}));
  assert.deepEqual(east.receiveAll(), ['list']);
  await mustWrite(api, exportEntry({ web: ['east'] }));
  assert.deepEqual(east.receiveAll(), ['list', 'service/web']);
  assert.deepEqual(east.services, { web: ['n1/web:80'] });
});

test('a second subscription sends everything again [STREAM-38]', async () => {
  await mustRegister(api);
  const outgoing = outgoingServices({
    exporter,
    peer: { partition: 'default', peerName: 'east' },
    tooLarge: () => undefined,
  });
  const end = outgoing.follow(() => undefined);
  const key = { kind: 'service', id: 'web' } as const;
  for (let time = 0; time < 2; time++) {
    assert.deepEqual([outgoing.ids('list'), outgoing.ids('service')], [['exported-service-list'], ['web']]);
    assert.equal(typeof outgoing.read(key), 'object');
    assert.equal(outgoing.read(key), 'unchanged');
    assert.equal(typeof outgoing.read({ kind: 'list', id: 'exported-service-list' }), 'object');
  }
  end();
});

test('a missing peering exports nothing', () => {
  const outgoing = outgoingServices({ exporter, peer: undefined, tooLarge: () => undefined });
  const end = outgoing.follow(() => assert.fail('nothing has changed'));
  assert.deepEqual(outgoing.ids('service'), []);
  assert.equal(outgoing.read({ kind: 'service', id: 'web' }), undefined);
  end();
});

test('deliveryStatus follows the sent versions and the answers of the peer', async () => {
  const outgoing = outgoingServices({
    exporter,
    peer: { partition: 'default', peerName: 'east' },
    tooLarge: () => undefined,
  });
  const end = outgoing.follow(() => undefined);
  const send = (): void => void outgoing.read({ kind: 'service', id: 'web' });
  const status = (): string => outgoing.deliveryStatus('WEB').kind;
  assert.equal(status(), 'unsent');
  await mustRegister(api);
  assert.deepEqual([status(), outgoing.sent()], ['unsent', [{ name: 'web', payload: undefined }]]);
  send();
  assert.equal(status(), 'unanswered');
  await mustRegister(api, { Service: { Service: 'web', Port: 81 } });
  assert.equal(status(), 'unsent');
  send();
  // The first answer belongs to the previous version.
  outgoing.serviceAnswered('web');
  assert.equal(status(), 'unanswered');
  const refusal = { code: 8, message: 'no room' };
  outgoing.serviceAnswered('web', refusal);
  assert.deepEqual(outgoing.deliveryStatus('web'), { kind: 'refused', refusal });
  await mustRegister(api, { Service: { Service: 'web', Port: 82 } });
  send();
  outgoing.serviceAnswered('web');
  assert.equal(status(), 'acknowledged');
  end();
});
