/** The order of validation in the peering endpoints ([PEER-13]). */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mustGenerate, mustPeer } from '../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../test/support/process/api.ts';

interface Fault {
  readonly name: string;
  readonly method?: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly caller?: 'unknown' | 'reader';
  readonly status: number;
  readonly text: RegExp;
}

const ACL = { caller: 'reader', status: 403, text: /lacks permission 'peering:write'$/ } as const;
const UNKNOWN = { caller: 'unknown', status: 403, text: /^ACL not found$/ } as const;
const SYNTAX = { body: { Partition: 'a_b' }, status: 400, text: /^a_b is not a valid partition name: / };
const EXISTENCE = { body: { Partition: 'nowhere' }, status: 400, text: /^partition "nowhere" does not exist$/ };
const META = { body: { Meta: { 'a b': '' } }, status: 400, text: /^meta tags failed validation: key "a b"/ };
const METHOD = { method: 'PATCH', status: 405, text: /^method PATCH not allowed$/ };
const UNKNOWN_FIELD = { body: { Unknown: 1 }, status: 400, text: /^Body decoding failed: / };

describe('a request with several errors reports the first in the documented order', () => {
  let api: Api;
  let other: Api;
  let tokens: Readonly<Record<'unknown' | 'reader', string>>;
  /** Peering tokens, keyed by their error. `fine` is valid. */
  const peeringTokens: Record<string, string> = {};
  before(async () => {
    api = await startApi();
    other = await startApi();
    tokens = { unknown: 'unknown', reader: (await api.makeToken(['peering:read@*'])).SecretID };
    await mustPeer(other, 'x', api, 'dialing');
    await mustGenerate(api, 'accepting');
    peeringTokens['own'] = await mustGenerate(api, 'mine');
    peeringTokens['fine'] = await mustGenerate(other, 'y');
  });
  after(async () => {
    await api[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });

  const orders: Readonly<Record<string, readonly Fault[]>> = {
    '/v1/peering/token': [
      { name: 'method', ...METHOD },
      { name: 'body', ...UNKNOWN_FIELD },
      {
        name: 'required fields',
        body: { PeerName: '' },
        status: 400,
        text: /^PeerName is required in the payload when generating/,
      },
      { name: 'name', body: { PeerName: 'a_b' }, status: 400, text: /^a_b is not a valid peer name: / },
      { name: 'syntax of the partition', ...SYNTAX },
      { name: 'token of the caller', ...UNKNOWN },
      { name: 'grant', ...ACL },
      { name: 'partition', ...EXISTENCE },
      { name: 'Meta', ...META },
      {
        name: 'addresses',
        body: { ServerExternalAddresses: ['x'] },
        status: 400,
        text: /^x is not a valid peering server address$/,
      },
      { name: 'role', body: { PeerName: 'dialing' }, status: 409, text: /there is already an established peering$/ },
    ],
    '/v1/peering/establish': [
      { name: 'method', ...METHOD },
      { name: 'body', ...UNKNOWN_FIELD },
      {
        name: 'name that is required',
        body: { PeerName: '' },
        status: 400,
        text: /^PeerName is required in the payload when establishing/,
      },
      {
        name: 'token that is required',
        body: { PeeringToken: '' },
        status: 400,
        text: /^PeeringToken is required in the payload when/,
      },
      { name: 'name', body: { PeerName: 'a_b' }, status: 400, text: /^a_b is not a valid peer name: / },
      { name: 'syntax of the partition', ...SYNTAX },
      { name: 'token of the caller', ...UNKNOWN },
      { name: 'grant', ...ACL },
      { name: 'partition', ...EXISTENCE },
      { name: 'format of the token', body: { PeeringToken: 'x' }, status: 400, text: /^failed to decode token$/ },
      { name: 'Meta', ...META },
      {
        name: 'own cluster',
        body: { PeeringToken: 'own' },
        status: 400,
        text: /^cannot create a peering within the same cluster/,
      },
      {
        name: 'role',
        body: { PeerName: 'accepting', PeeringToken: 'fine' },
        status: 409,
        text: /there is an existing peering expecting to be dialed$/,
      },
    ],
  };

  for (const [path, faults] of Object.entries(orders)) {
    for (const [i, { name, status, text }] of faults.entries()) {
      const rest = faults.slice(i);
      test(`${path}: ${rest.map((fault) => fault.name).join(', ')}`, async () => {
        const body: Record<string, unknown> = {
          PeerName: 'fine',
          ...(path.endsWith('establish') && { PeeringToken: 'fine' }),
        };
        for (const fault of rest.toReversed()) Object.assign(body, fault.body);
        const token = body['PeeringToken'];
        if (typeof token === 'string') body['PeeringToken'] = peeringTokens[token] ?? token;
        const caller = rest.find((fault) => fault.caller !== undefined)?.caller;
        const method = rest.find((fault) => fault.method !== undefined)?.method ?? 'POST';
        const { snapshot } = api.state;
        const answer = await api.request(method, path, {
          body,
          token: caller === undefined ? api.token : tokens[caller],
        });
        assert.equal(answer.status, status, answer.text);
        assert.match(answer.text, text, name);
        assert.equal(api.state.snapshot, snapshot);
      });
    }
  }

  test('checks name, partition syntax, grant, partition and peering when reading, deleting and on /token', async () => {
    const { SecretID: none } = await api.makeToken([]);
    const { SecretID: all } = await api.makeToken(['peering:write@*']);
    for (const [method, path, access] of [
      ['GET', '', 'read'],
      ['DELETE', '', 'write'],
      ['GET', '/token', 'write'],
      ['DELETE', '/token', 'write'],
    ] as const) {
      const ask = async (name: string, partition: string, token: string): Promise<string> => {
        const answer = await api.request(method, `/v1/peering/${name}${path}?partition=${partition}`, { token });
        return `${answer.status} ${answer.text}`;
      };
      assert.match(await ask('a_b', 'a_b', none), /^400 a_b is not a valid peer name/);
      assert.match(await ask('a', 'a_b', none), /^400 a_b is not a valid partition name/);
      assert.match(await ask('a', 'nowhere', none), new RegExp(`^403 .*lacks permission 'peering:${access}'$`));
      assert.equal(await ask('a', 'nowhere', all), '400 partition "nowhere" does not exist');
      assert.equal(await ask('a', '', all), method === 'GET' ? '404 Peering not found for "a"' : '200 ');
    }
  });

  test('OPTIONS and 405 list the methods, also for names that are API paths [PEER-6]', async () => {
    for (const [path, allow] of [
      ['/v1/peering/east', 'GET, DELETE, HEAD, OPTIONS'],
      ['/v1/peering/east/token', 'GET, DELETE, HEAD, OPTIONS'],
      ['/v1/peerings', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const options = await api.request('OPTIONS', path);
      assert.deepEqual([options.status, options.headers.allow], [200, allow]);
      const put = await api.request('PUT', path);
      assert.deepEqual([put.status, put.headers.allow], [405, allow]);
    }
    const both = (await api.request('OPTIONS', '/v1/peering/token')).headers.allow ?? '';
    assert.deepEqual(both.split(', ').toSorted(), ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST']);
  });
});
