/** Tests reads and registrations with grants that are limited to names ([SVC-3], [SVC-4], [SVC-23]). */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type CheckJson,
  type Fields,
  importedInstance,
  importFrom,
  mustGet,
  mustRegister,
  requestRegister,
} from '../../../test/support/peering/catalog-requests.ts';
import { mustGenerate, statusAndText } from '../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';

const FILTERED = 'x-service-results-filtered-by-acls';

describe('a read with a grant limited to names', () => {
  let api: Api;
  let token = '';
  let denial = '';
  before(async () => {
    api = await startApi();
    await api.makePartitions('eu');
    const check = (name: string): Fields => ({ Name: `c-${name}`, Status: 'passing', ServiceID: name });
    await mustRegister(api, { Node: 'both', Service: { Service: 'web' }, Checks: [check('web'), { Name: 'n' }] });
    await mustRegister(api, { Node: 'both', Service: { Service: 'db' }, Check: check('db') });
    await mustRegister(api, { Node: 'theirs', Service: { Service: 'db' }, Check: { Name: 'n' } });
    await mustRegister(api, { Node: 'empty', Service: undefined });
    await mustRegister(api, { Node: 'both', Partition: 'eu' });
    await mustGenerate(api, 'east');
    await importFrom(api, 'east', 'web', [importedInstance('web', 'e1')]);
    await importFrom(api, 'east', 'db', [importedInstance('db', 'e2')]);
    const made = await api.makeToken(['services:read@default=WEB']);
    token = made.SecretID;
    denial = `Permission denied: token with AccessorID '${made.AccessorID}' lacks permission 'services:read'`;
  });
  after(() => api[Symbol.asyncDispose]());

  for (const path of ['/v1/health/service/', '/v1/catalog/service/']) {
    test(`returns 403 at ${path} for other services`, async () => {
      assert.equal((await mustGet<unknown[]>(api, `${path}web`, { token })).length, 1);
      assert.equal((await mustGet<unknown[]>(api, `${path}Web?peer=east`, { token })).length, 1);
      for (const at of ['db', 'nothing', 'db?peer=east', 'web?partition=eu', 'web?partition=nowhere']) {
        assert.deepEqual(statusAndText(await api.request('GET', `${path}${at}`, { token })), [403, denial], at);
      }
    });
  }

  /** A list, and the part of it that the token can read. */
  const lists: readonly (readonly [path: string, seen: (body: never) => unknown, expected: unknown])[] = [
    ['/v1/catalog/services', (body: object) => body, { web: [] }],
    ['/v1/catalog/services?peer=east', (body: object) => body, { web: [] }],
    ['/v1/catalog/nodes', (body: { Node: string }[]) => body.map(({ Node }) => Node), ['both']],
    ['/v1/catalog/nodes?peer=east', (body: { Node: string }[]) => body.map(({ Node }) => Node), ['e1']],
    ['/v1/catalog/node/both', ({ Services }: { Services: object }) => Object.keys(Services), ['web']],
    ['/v1/catalog/node/theirs', (body: unknown) => body, null],
    ['/v1/health/node/both', (body: CheckJson[]) => body.map(({ CheckID }) => CheckID), ['n', 'c-web']],
    ['/v1/health/node/theirs', (body: unknown) => body, []],
    ['/v1/health/state/any', (body: CheckJson[]) => body.map(({ CheckID }) => CheckID), ['n', 'c-web']],
    ['/v1/health/state/passing', (body: CheckJson[]) => body.map(({ CheckID }) => CheckID), ['c-web']],
  ];
  for (const [path, pick, expected] of lists) {
    test(`omits other services from ${path} and sets the filter header`, async () => {
      const answer = await api.request('GET', path, { token });
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(pick(answer.json() as never), expected);
      assert.equal(answer.headers[FILTERED], 'true');
      const whole = await api.request('GET', path);
      assert.equal(whole.headers[FILTERED], undefined);
      const elsewhere = await api.request('GET', `${path}${path.includes('?') ? '&' : '?'}partition=eu`, { token });
      assert.deepEqual(statusAndText(elsewhere), [403, denial]);
    });
  }

  test('returns the same answer for a hidden node and a missing one', async () => {
    const hidden = await api.request('GET', '/v1/catalog/node/empty', { token });
    const absent = await api.request('GET', '/v1/catalog/node/absent', { token });
    assert.deepEqual([hidden.text, hidden.headers[FILTERED]], [absent.text, absent.headers[FILTERED]]);
  });

  test('wakes when the grants of the token change', async () => {
    const { AccessorID, SecretID } = await api.makeToken(['services:read@default=web']);
    const options = { token: SecretID };
    const held = await api.startBlockingQuery(`/v1/catalog/services?index=${api.state.snapshot.index}`, options);
    const Grants = [{ Resource: 'services', Access: 'read', Partition: 'default', Names: ['db'] }];
    await api.request('PUT', `/v1/acl/token/${AccessorID}`, { body: { Grants } });
    assert.deepEqual((await held.answer).json(), { db: [] });
  });
});

describe('a registration with a grant limited to names', () => {
  let api: Api;
  let token = '';
  before(async () => {
    api = await startApi();
    await mustRegister(api, { Node: 'shared', Check: { Name: 'n', Status: 'passing' } });
    for (const Service of ['db', 'web']) await mustRegister(api, { Node: 'shared', Service: { Service } });
    token = (await api.makeToken(['services:write@default=web,web-*'])).SecretID;
  });
  after(() => api[Symbol.asyncDispose]());

  const cases: readonly (readonly [what: string, fields: Fields, status: number])[] = [
    ['a permitted service that is on the node already', { Node: 'shared', Service: { Service: 'web', Port: 1 } }, 200],
    ['a permitted service on the node of other services', { Node: 'shared', Service: { Service: 'web-2' } }, 403],
    ['a permitted service on a new node', { Node: 'own', Service: { Service: 'web' } }, 200],
    [
      'a check of a permitted service',
      { Node: 'shared', Service: undefined, Check: { Name: 'c', ServiceID: 'web' } },
      200,
    ],
    ['an unchanged check of the node', { Node: 'shared', Check: { Name: 'n', Status: 'passing' } }, 200],
    ['another service', { Node: 'shared', Service: { Service: 'db' } }, 403],
    ['a permitted service under the ID of another', { Node: 'shared', Service: { ID: 'db', Service: 'web' } }, 403],
    ['a check of another service', { Node: 'shared', Service: undefined, Check: { Name: 'c', ServiceID: 'db' } }, 403],
    ['a check of the node', { Node: 'shared', Check: { Name: 'n', Status: 'critical' } }, 403],
    ['another address of the node', { Node: 'shared', Address: '10.9.9.9' }, 403],
    ['a node without a service', { Node: 'alone', Service: undefined }, 403],
    ['a new node with a check of the node', { Node: 'checked', Check: { Name: 'n' } }, 403],
  ];
  for (const [what, fields, status] of cases) {
    test(`returns ${status} for ${what}`, async () => {
      const { snapshot } = api.state;
      const answer = await requestRegister(api, fields, { token });
      assert.equal(answer.status, status, answer.text);
      if (status !== 200) assert.equal(api.state.snapshot, snapshot);
    });
  }
});
