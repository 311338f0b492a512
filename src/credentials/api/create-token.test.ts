import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, type MadeToken, sharedApi, startApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const create = (api: Api, body: unknown, token = api.token): Promise<Answer> =>
  api.request('PUT', '/v1/acl/token', { body, token });

describe('a new token', () => {
  test('is answered with its secret, its properties in the documented order', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
    await api.makePartitions('eu');
    const body = {
      Description: 'dashboard',
      Partition: 'eu',
      ExpirationTTL: '1h30m',
      Grants: [
        { Resource: 'peering', Access: 'read', Names: ['east', 'prod-*'] },
        { Resource: 'acl', Access: 'write', Partition: '*' },
      ],
    };
    const answer = await create(api, body);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['content-type'], 'application/json');
    const token = answer.json<MadeToken>();
    assert.match(token.AccessorID, UUID);
    assert.match(token.SecretID, UUID);
    const index = api.state.snapshot.index;
    const shown = {
      AccessorID: token.AccessorID,
      SecretID: token.SecretID,
      Description: 'dashboard',
      Partition: 'eu',
      ExpirationTime: '2030-01-01T01:30:00.000Z',
      Grants: [
        { Resource: 'peering', Access: 'read', Partition: 'eu', Names: ['east', 'prod-*'] },
        { Resource: 'acl', Access: 'write', Partition: '*' },
      ],
      CreateTime: '2030-01-01T00:00:00.000Z',
      CreateIndex: index,
      ModifyIndex: index,
    };
    assert.equal(answer.text, JSON.stringify(shown));
    const { SecretID: _, ...withoutSecret } = shown;
    const read = await api.request('GET', `/v1/acl/token/${token.AccessorID}`);
    assert.equal(read.text, JSON.stringify(withoutSecret));
    const self = await api.request('GET', '/v1/acl/token/self', { token: token.SecretID });
    assert.equal(self.text, read.text);
  });

  test('of an empty body has no grants, no end, and lives with its maker', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    const { SecretID: maker } = await api.makeToken(['acl:write@eu'], { Partition: 'eu' });
    const answer = await create(api, {}, maker);
    assert.deepEqual(Object.keys(answer.json<object>()), [
      'AccessorID',
      'SecretID',
      'Description',
      'Partition',
      'Grants',
      'CreateTime',
      'CreateIndex',
      'ModifyIndex',
    ]);
    const { Description, Partition, Grants } = answer.json<MadeToken>();
    assert.deepEqual([Description, Partition, Grants], ['', 'eu', []]);
  });

  test('keeps partitions as they were first named', async () => {
    await using api = await startApi();
    await api.makePartitions('Eu-West');
    const { Partition, Grants } = await api.makeToken(['peering:read@EU-west'], { Partition: 'eu-WEST' });
    assert.deepEqual([Partition, Grants[0]?.Partition], ['Eu-West', 'Eu-West']);
  });
});

describe('what a new token must be', () => {
  const shared = sharedApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
  const grant = { Resource: 'peering', Access: 'read' };
  const refused: readonly (readonly [what: string, body: unknown, text: string | RegExp])[] = [
    ['a body that is no JSON', '{', /^Body decoding failed: /],
    ['a body of another type', [], /^Body decoding failed: /],
    ['an unknown field', { Grant: [] }, /^Body decoding failed: /],
    ['an unknown resource', { Grants: [{ ...grant, Resource: 'peer' }] }, /^Body decoding failed: /],
    ['an unknown access', { Grants: [{ ...grant, Access: 'list' }] }, /^Body decoding failed: /],
    ['a description that is too long', { Description: 'x'.repeat(1_025) }, /^Body decoding failed: /],
    ['too many grants', { Grants: new Array(129).fill(grant) }, /^Body decoding failed: /],
    ['too many names', { Grants: [{ ...grant, Names: new Array(129).fill('a') }] }, /^Body decoding failed: /],
    [
      'too many names in all',
      { Grants: [...new Array(16).fill({ ...grant, Names: new Array(128).fill('a') }), { ...grant, Names: ['b'] }] },
      'Grants: 2049 names are too many, want at most 2048 in a token: a prefix such as prod-* stands for many',
    ],
    [
      'a grant of no partition that can be',
      { Grants: [grant, { ...grant, Partition: 'a_b' }] },
      "Grants[1].Partition: a_b is not a valid partition name: a valid partition name must consist of alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long",
    ],
    [
      'names where things have none',
      { Grants: [{ Resource: 'acl', Access: 'read', Names: ['east'] }] },
      'Grants[0].Names: a grant on acl cannot be limited to names',
    ],
    [
      'an empty list of names',
      { Grants: [{ ...grant, Names: [] }] },
      'Grants[0].Names: an empty list would grant nothing; leave Names out to grant every name',
    ],
    [
      'a star inside a name',
      { Grants: [{ ...grant, Names: ['east', 'a*b'] }] },
      'Grants[0].Names[1]: "a*b" is not a name such as east, nor a prefix such as prod-*',
    ],
    [
      'a grant of a partition that is not there',
      { Grants: [{ ...grant, Partition: 'nowhere' }] },
      'partition "nowhere" does not exist',
    ],
    ['a partition that is not there', { Partition: 'nowhere' }, 'partition "nowhere" does not exist'],
    ['all partitions', { Partition: '*' }, /^\* is not a valid partition name: /],
    [
      'two ends',
      { ExpirationTTL: '1h', ExpirationTime: '2030-01-02T00:00:00Z' },
      'ExpirationTime and ExpirationTTL are both given: want one of them',
    ],
    ['a life that is no duration', { ExpirationTTL: '1d' }, 'ExpirationTTL "1d" is not a duration such as 8h or 1h30m'],
    [
      'an end that is no time',
      { ExpirationTime: '2030-02-30T00:00:00Z' },
      'ExpirationTime "2030-02-30T00:00:00Z" is not a time as RFC 3339 writes it, such as 2026-01-31T00:00:00Z',
    ],
    [
      'no life at all',
      { ExpirationTTL: '0' },
      'ExpirationTTL "0" must lie in the future, at most a hundred years away',
    ],
    [
      'an end that is now',
      { ExpirationTime: '2030-01-01T00:00:00Z' },
      'ExpirationTime "2030-01-01T00:00:00Z" must lie in the future, at most a hundred years away',
    ],
    [
      'an end beyond reason',
      { ExpirationTime: '2131-01-01T00:00:00Z' },
      'ExpirationTime "2131-01-01T00:00:00Z" must lie in the future, at most a hundred years away',
    ],
  ];
  for (const [what, body, text] of refused) {
    test(`${what} is refused and changes nothing`, async () => {
      const api = shared();
      const { snapshot } = api.state;
      const answer = await create(api, body);
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
      if (typeof text === 'string') assert.equal(answer.text, text);
      else assert.match(answer.text, text);
      assert.equal(api.state.snapshot, snapshot);
    });
  }

  test('an empty end is none', async () => {
    await using api = await startApi();
    const answer = await create(api, { ExpirationTime: '', ExpirationTTL: '' });
    assert.equal(answer.json<MadeToken>().ExpirationTime, undefined);
  });

  test('a life of less than a millisecond is one', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
    const answer = await create(api, { ExpirationTTL: '10us' });
    assert.equal(answer.json<MadeToken>().ExpirationTime, '2030-01-01T00:00:00.001Z');
  });
});

describe('the order of checks', () => {
  const shared = sharedApi();
  interface Fault {
    readonly name: string;
    readonly body?: Readonly<Record<string, unknown>>;
    readonly caller?: 'unknown' | 'reader';
    readonly status: number;
    readonly text: RegExp;
  }
  const grants = [{ Resource: 'acl', Access: 'read', Names: ['x'] }];
  const faults: readonly Fault[] = [
    { name: 'body', body: { Unknown: 1 }, status: 400, text: /^Body decoding failed: / },
    { name: 'grants', body: { Grants: grants }, status: 400, text: /^Grants\[0\]\.Names: / },
    { name: 'expiration', body: { ExpirationTTL: 'x' }, status: 400, text: /^ExpirationTTL "x" is not a duration/ },
    { name: 'syntax of the partition', body: { Partition: 'a_b' }, status: 400, text: /^a_b is not a valid partition/ },
    { name: 'token', caller: 'unknown', status: 403, text: /^ACL not found$/ },
    { name: 'grant of the caller', caller: 'reader', status: 403, text: /lacks permission 'acl:write'$/ },
    { name: 'partition', body: { Partition: 'nowhere' }, status: 400, text: /^partition "nowhere" does not exist$/ },
  ];
  for (const [i, { name, status, text }] of faults.entries()) {
    const rest = faults.slice(i);
    test(`of ${rest.map((fault) => fault.name).join(', ')} the first is told`, async () => {
      const api = shared();
      const tokens = { unknown: 'unknown', reader: (await api.makeToken(['acl:read@*'])).SecretID };
      const body: Record<string, unknown> = {};
      for (const fault of rest.toReversed()) Object.assign(body, fault.body);
      const caller = rest.find((fault) => fault.caller !== undefined)?.caller;
      const answer = await create(api, body, caller === undefined ? api.token : tokens[caller]);
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.text, text, name);
    });
  }
});

describe('a maker gives only what it holds', () => {
  const shared = sharedApi();
  const rows: readonly (readonly [maker: readonly string[], given: string, lacks: string | undefined])[] = [
    [['acl:write@eu', 'peering:write@eu'], 'peering:read@eu', undefined],
    [['acl:write@eu', 'peering:write@eu'], 'acl:write@eu', undefined],
    [['acl:write@eu', 'peering:read@eu'], 'peering:write@eu', 'peering:write'],
    [['acl:write@eu', 'peering:read@eu'], 'config:read@eu', 'config:read'],
    [['acl:write@eu', 'peering:read@*'], 'peering:read@us', 'acl:write'],
    [['acl:write@eu', 'peering:read@*'], 'peering:read@*', 'acl:write'],
    [['acl:write@*', 'peering:read@eu'], 'peering:read@us', 'peering:read'],
    [['acl:write@*', 'peering:read@eu'], 'peering:read@*', 'peering:read'],
    [['acl:write@*', 'peering:read@*'], 'peering:read@us', undefined],
    [['acl:write@eu', 'peering:read@eu=prod-*'], 'peering:read@eu=prod-a,prod-b-*', undefined],
    [['acl:write@eu', 'peering:read@eu=prod-*'], 'peering:read@eu=prod-a,dev', 'peering:read'],
    [['acl:write@eu', 'peering:read@eu=prod-*'], 'peering:read@eu', 'peering:read'],
    [['acl:write@us', 'peering:read@*'], 'peering:read@us', 'acl:write'],
  ];
  for (const [held, given, lacks] of rows) {
    test(`[${held.join(' ')}] ${lacks === undefined ? 'gives' : 'does not give'} ${given}`, async () => {
      const api = shared();
      await api.makePartitions('eu', 'us');
      const maker = await api.makeToken(held, { Partition: 'eu' });
      const [, Resource, Access, Partition, names] = /^(\w+):(\w+)@([^=]+)(?:=(.*))?$/.exec(given) ?? [];
      const Names = names?.split(',');
      const wanted = { Resource, Access, Partition, ...(Names === undefined ? {} : { Names }) };
      const answer = await create(api, { Grants: [wanted] }, maker.SecretID);
      if (lacks === undefined) {
        assert.equal(answer.status, 200, answer.text);
        return;
      }
      const text = `Permission denied: token with AccessorID '${maker.AccessorID}' lacks permission '${lacks}'`;
      assert.deepEqual([answer.status, answer.text], [403, text]);
    });
  }
});

test('PUT /v1/acl/bootstrap is refused ever after', async () => {
  await using api = await startApi();
  const answer = await api.request('PUT', '/v1/acl/bootstrap', { token: null });
  assert.deepEqual(
    [answer.status, answer.text],
    [403, 'Permission denied: ACL bootstrap no longer allowed, the first start has made the first credentials'],
  );
});
