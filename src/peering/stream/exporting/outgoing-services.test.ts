import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { registered } from '../../../../test/support/peering/catalog.ts';
import { exporting, written } from '../../../../test/support/peering/entries.ts';
import { startExporter, startPeer, type TestExporter } from '../../../../test/support/peering/exporting.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import { outgoingServices } from './outgoing-services.ts';

let api: Api;
let exporter: TestExporter;
beforeEach(async () => {
  api = await startApi();
  exporter = startExporter(api.state);
  await written(api, exporting({ '*': ['east'] }));
});
afterEach(async () => {
  await exporter[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

test('while a list is unanswered no other is sent, and the next one has all that came meanwhile', async () => {
  const east = startPeer(exporter, 'east');
  east.holdsLists = true;
  east.takeAll();
  for (const Service of ['a', 'b', 'c']) await registered(api, { Service: { Service } });
  assert.deepEqual(east.takeAll(), ['service/a', 'service/b', 'service/c']);
  assert.equal(east.lists, 1);
  east.answerList();
  assert.deepEqual(east.takeAll(), ['list']);
  assert.equal(east.lists, 2);
  east.answerList();
  assert.deepEqual(east.waiting, []);
  assert.deepEqual(Object.keys(east.has), ['a', 'b', 'c']);
});

test('a list that comes to be as it was is not sent', async () => {
  const east = startPeer(exporter, 'east');
  east.takeAll();
  await registered(api);
  await api.request('PUT', '/v1/catalog/deregister', { body: { Node: 'n1', ServiceID: 'web' } });
  assert.ok(east.waiting.includes('list/exported-service-list'));
  assert.equal(east.takeAll().includes('list'), false);
});

test('a service that a list has taken from the peer is sent again when it is exported again, though it is as it was', async () => {
  await registered(api);
  const east = startPeer(exporter, 'east');
  east.takeAll();
  await written(api, exporting({}));
  assert.deepEqual(east.takeAll(), ['list']);
  await written(api, exporting({ web: ['east'] }));
  assert.deepEqual(east.takeAll(), ['list', 'service/web']);
  assert.deepEqual(east.has, { web: ['n1/web:80'] });
});

test('a peer that asks for everything again is sent everything again', async () => {
  await registered(api);
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

test('to a peering that is gone nothing is exported', () => {
  const outgoing = outgoingServices({ exporter, peer: undefined, tooLarge: () => undefined });
  const end = outgoing.follow(() => assert.fail('there is nothing to tell'));
  assert.deepEqual(outgoing.ids('service'), []);
  assert.equal(outgoing.read({ kind: 'service', id: 'web' }), undefined);
  end();
});

test('the fate of a service follows what was sent of it, and what the peer has answered', async () => {
  const outgoing = outgoingServices({
    exporter,
    peer: { partition: 'default', peerName: 'east' },
    tooLarge: () => undefined,
  });
  const end = outgoing.follow(() => undefined);
  const send = (): void => void outgoing.read({ kind: 'service', id: 'web' });
  const fate = (): string => outgoing.fate('WEB').kind;
  assert.equal(fate(), 'unsent');
  await registered(api);
  assert.deepEqual([fate(), outgoing.sent()], ['unsent', [{ name: 'web', content: undefined }]]);
  send();
  assert.equal(fate(), 'unanswered');
  await registered(api, { Service: { Service: 'web', Port: 81 } });
  assert.equal(fate(), 'unsent');
  send();
  // The first answer is for what was sent before.
  outgoing.serviceAnswered('web');
  assert.equal(fate(), 'unanswered');
  const refusal = { code: 8, message: 'no room' };
  outgoing.serviceAnswered('web', refusal);
  assert.deepEqual(outgoing.fate('web'), { kind: 'refused', refusal });
  await registered(api, { Service: { Service: 'web', Port: 82 } });
  send();
  outgoing.serviceAnswered('web');
  assert.equal(fate(), 'acknowledged');
  end();
});
