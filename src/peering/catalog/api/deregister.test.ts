import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import {
  deregister,
  deregistered,
  type Fields,
  got,
  health,
  registered,
  type ShownCheck,
} from '../../../../test/support/peering/catalog.ts';
import { seen } from '../../../../test/support/peering/peering.ts';
import { sharedApi, startApi } from '../../../../test/support/process/api.ts';
import { until } from '../../../../test/support/until.ts';
import { catalogServices } from '../tables/catalog-service.ts';

describe('taking away', () => {
  const api = sharedApi();

  test('a service takes its checks along and leaves the node', async () => {
    await registered(api(), {
      Node: 'a',
      Service: { Service: 'gone' },
      Checks: [{ Name: 'n' }, { Name: 's', ServiceID: 'gone' }],
    });
    await registered(api(), { Node: 'a', Service: { Service: 'stays' } });
    await deregistered(api(), { Node: 'A', ServiceID: 'gone' });
    assert.deepEqual(await health(api(), 'gone'), []);
    assert.deepEqual(await health(api(), 'stays'), ['a/stays critical']);
    const checks = await got<ShownCheck[]>(api(), '/v1/health/node/a');
    assert.deepEqual(
      checks.map(({ CheckID }) => CheckID),
      ['n'],
    );
  });

  test('a check leaves everything else, whosever it is', async () => {
    await registered(api(), {
      Node: 'b',
      Service: { Service: 'checked' },
      Checks: [{ Name: 'n' }, { Name: 's', ServiceID: 'checked' }, { Name: 't', ServiceID: 'checked' }],
    });
    await deregistered(api(), { Node: 'b', CheckID: 's' });
    await deregistered(api(), { Node: 'b', CheckID: 'n' });
    const checks = await got<ShownCheck[]>(api(), '/v1/health/node/b');
    assert.deepEqual(
      checks.map(({ CheckID }) => CheckID),
      ['t'],
    );
    assert.deepEqual(await health(api(), 'checked'), ['b/checked critical']);
  });

  test('what is not there is no error and no change', async () => {
    await registered(api(), { Node: 'c' });
    const { snapshot } = api().state;
    await deregistered(api(), { Node: 'nowhere' });
    await deregistered(api(), { Node: 'c', ServiceID: 'no' });
    await deregistered(api(), { Node: 'c', CheckID: 'no' });
    assert.equal(api().state.snapshot, snapshot);
  });

  const refusals: readonly (readonly [what: string, fields: Fields, text: RegExp])[] = [
    ['without a node', {}, /^Must provide node$/],
    ['of another datacenter', { Node: 'n1', Datacenter: 'dc9' }, /^No path to datacenter "dc9"/],
    ['of a peer', { Node: 'n1', PeerName: 'east' }, /^what came from peer "east" cannot be changed here/],
    ['of a namespace', { Node: 'n1', Namespace: 'x' }, /^there is no namespace "x"/],
    ['in a partition that is not there', { Node: 'n1', Partition: 'nowhere' }, /^partition "nowhere" does not exist$/],
  ];
  for (const [what, fields, text] of refusals) {
    test(`${what} is refused`, async () => {
      const answer = await deregister(api(), fields);
      assert.equal(answer.status, 400);
      assert.match(answer.text, text);
    });
  }
});

test('a node takes everything on it along, at once and for good, in a commit that does not grow', async () => {
  // With a clock that stands still the job that removes in the background adds no commit of its own.
  await using api = await startApi({ clock: createFakeClock() });
  const names = Array.from({ length: 700 }, (_, i) => `s${i}`);
  await Promise.all(names.map((Service) => registered(api, { Node: 'big', Service: { Service } })));
  await registered(api, { Node: 'small' });
  const { index } = api.state.snapshot;
  await deregistered(api, { Node: 'big' });
  assert.equal(api.state.snapshot.index, index + 1);
  assert.deepEqual(await got(api, '/v1/catalog/services'), { web: [] });
  assert.equal(await got(api, '/v1/catalog/node/big'), null);
  // Under its name begins another node, with nothing of the old one.
  await registered(api, { Node: 'big', Service: { Service: 's1' } });
  assert.deepEqual(await health(api, 's1'), ['big/s1']);
  assert.deepEqual(await health(api, 's2'), []);
  await until('what was on it is dropped', () => api.state.snapshot.count(catalogServices) === 2);
  assert.deepEqual(await health(api, 's1'), ['big/s1']);
});

test('who may write some services takes away those alone', async () => {
  await using api = await startApi();
  await registered(api, { Checks: [{ Name: 'n' }, { Name: 's', ServiceID: 'web' }] });
  await registered(api, { Service: { Service: 'db' }, Checks: [{ Name: 'd', ServiceID: 'db' }] });
  const { SecretID: token, AccessorID } = await api.makeToken(['services:write@default=web']);
  const lacks = `Permission denied: token with AccessorID '${AccessorID}' lacks permission 'services:write'`;
  for (const fields of [
    { Node: 'n1' },
    { Node: 'nowhere' },
    { Node: 'n1', ServiceID: 'db' },
    { Node: 'n1', CheckID: 'd' },
    { Node: 'n1', CheckID: 'n' },
    // What is not there is told from what is another's by nobody who might not take both away.
    { Node: 'n1', ServiceID: 'nothing' },
    { Node: 'n1', CheckID: 'nothing' },
    { Node: 'nowhere', ServiceID: 'db' },
    { Node: 'nowhere', CheckID: 'd' },
  ]) {
    assert.deepEqual(seen(await deregister(api, fields, { token })), [403, lacks], JSON.stringify(fields));
  }
  for (const fields of [
    { Node: 'n1', CheckID: 's' },
    { Node: 'n1', ServiceID: 'web' },
  ]) {
    assert.deepEqual(seen(await deregister(api, fields, { token })), [200, 'true'], JSON.stringify(fields));
  }
  assert.deepEqual(await got(api, '/v1/catalog/services'), { db: [] });
});
