import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, type CreatedToken, sharedApi, startApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const create = (api: Api, body: unknown, token = api.token): Promise<Answer> =>
  api.request('PUT', '/v1/acl/token', { body, token });

describe('PUT /v1/acl/token', () => {
  test('returns the token with its secret ID and the fields in the documented order [ACL-12] [ACL-14]', async () => {
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
    const token = answer.json<CreatedToken>();
    assert.match(token.AccessorID, UUID);
    assert.match(token.SecretID, UUID);
    const index = api.state.snapshot.index;
    const document = {
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
    assert.equal(answer.text, JSON.stringify(document));
    const { SecretID: _, ...withoutSecret } = document;
    const read = await api.request('GET', `/v1/acl/token/${token.AccessorID}`);
    assert.equal(read.text, JSON.stringify(withoutSecret));
    const self = await api.request('GET', '/v1/acl/token/self', { token: token.SecretID });
    assert.equal(self.text, read.text);
  });

  test("creates a token without grants or expiration in the caller's partition for an empty body", async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    const { SecretID: secretId } = await api.makeToken(['acl:write@eu'], { Partition: 'eu' });
    const answer = await create(api, {}, secretId);
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
    const { Description, Partition, Grants } = answer.json<CreatedToken>();
    assert.deepEqual([Description, Partition, Grants], ['', 'eu', []]);
  });

  test('returns partitions in their stored spelling [V1-43]', async () => {
    await using api = await startApi();
    await api.makePartitions('Eu-West');
    const { Partition, Grants } = await api.makeToken(['peering:read@EU-west'], { Partition: 'eu-WEST' });
    assert.deepEqual([Partition, Grants[0]?.Partition], ['Eu-West', 'Eu-West']);
  });
});

describe('PUT /v1/acl/token with an invalid body', () => {
  const shared = sharedApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
  const grant = { Resource: 'peering', Access: 'read' };
  const rejected: readonly (readonly [fault: string, body: unknown, text: string | RegExp])[] = [
    ['a body that is not JSON', '{', /^Body decoding failed: /],
    ['a body of another type', [], /^Body decoding failed: /],
    ['an unknown field', { Grant: [] }, /^Body decoding failed: /],
    ['an unknown resource', { Grants: [{ ...grant, Resource: 'peer' }] }, /^Body decoding failed: /],
    ['an unknown access', { Grants: [{ ...grant, Access: 'list' }] }, /^Body decoding failed: /],
    ['a description above 1,024 characters', { Description: 'x'.repeat(1_025) }, /^Body decoding failed: /],
    ['129 grants', { Grants: new Array(129).fill(grant) }, /^Body decoding failed: /],
    ['129 names in a grant', { Grants: [{ ...grant, Names: new Array(129).fill('a') }] }, /^Body decoding failed: /],
    [
      '2,049 names in all grants',
      { Grants: [...new Array(16).fill({ ...grant, Names: new Array(128).fill('a') }), { ...grant, Names: ['b'] }] },
      'Grants: 2049 names, want at most 2048 in a token; use a prefix such as prod-* for many names', // [ACL-16]
    ],
    [
      'a grant with an invalid partition name',
      { Grants: [grant, { ...grant, Partition: 'a_b' }] },
      "Grants[1].Partition: a_b is not a valid partition name: a valid partition name must consist of alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long", // [ACL-20]
    ],
    [
      'names in a grant on acl',
      { Grants: [{ Resource: 'acl', Access: 'read', Names: ['east'] }] },
      'Grants[0].Names: a grant on acl cannot be limited to names', // [ACL-24]
    ],
    [
      'an empty list of names',
      { Grants: [{ ...grant, Names: [] }] },
      'Grants[0].Names: an empty list would grant nothing; leave Names out to grant every name', // [ACL-23]
    ],
    [
      'a * inside a name',
      { Grants: [{ ...grant, Names: ['east', 'a*b'] }] },
      'Grants[0].Names[1]: "a*b" is not a name such as east, nor a prefix such as prod-*', // [ACL-22]
    ],
    [
      'a grant with a missing partition',
      { Grants: [{ ...grant, Partition: 'nowhere' }] },
      'partition "nowhere" does not exist',
    ],
    ['a missing partition', { Partition: 'nowhere' }, 'partition "nowhere" does not exist'],
    ['the partition *', { Partition: '*' }, /^\* is not a valid partition name: /],
    [
      'both ExpirationTTL and ExpirationTime',
      { ExpirationTTL: '1h', ExpirationTime: '2030-01-02T00:00:00Z' },
      'ExpirationTime and ExpirationTTL are both given: want one of them', // [ACL-33]
    ],
    [
      'an ExpirationTTL that is not a duration',
      { ExpirationTTL: '1d' },
      'ExpirationTTL "1d" is not a duration such as 8h or 1h30m', // [ACL-34]
    ],
    [
      'an ExpirationTime on February 30',
      { ExpirationTime: '2030-02-30T00:00:00Z' },
      'ExpirationTime "2030-02-30T00:00:00Z" is not an RFC 3339 time, such as 2026-01-31T00:00:00Z',
    ],
    [
      'an ExpirationTTL of 0',
      { ExpirationTTL: '0' },
      'ExpirationTTL "0" must be in the future, within a hundred years', // [ACL-35]
    ],
    [
      'an ExpirationTime that is now',
      { ExpirationTime: '2030-01-01T00:00:00Z' },
      'ExpirationTime "2030-01-01T00:00:00Z" must be in the future, within a hundred years',
    ],
    [
      'an ExpirationTime in more than 100 years',
      { ExpirationTime: '2131-01-01T00:00:00Z' },
      'ExpirationTime "2131-01-01T00:00:00Z" must be in the future, within a hundred years',
    ],
  ];
  for (const [fault, body, text] of rejected) {
    test(`returns 400 and changes nothing for ${fault}`, async () => {
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

  test('treats an empty ExpirationTime and ExpirationTTL as absent', async () => {
    await using api = await startApi();
    const answer = await create(api, { ExpirationTime: '', ExpirationTTL: '' });
    assert.equal(answer.json<CreatedToken>().ExpirationTime, undefined);
  });

  test('rounds an ExpirationTTL up to a millisecond', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
    const answer = await create(api, { ExpirationTTL: '10us' });
    assert.equal(answer.json<CreatedToken>().ExpirationTime, '2030-01-01T00:00:00.001Z');
  });
});

describe('the order of checks [V1-52]', () => {
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
    test(`reports the first fault of ${rest.map((fault) => fault.name).join(', ')}`, async () => {
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

describe('delegation of grants [ACL-29] [ACL-30] [ACL-31]', () => {
  const shared = sharedApi();
  const rows: readonly (readonly [held: readonly string[], wanted: string, lacks: string | undefined])[] = [
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
    [['acl:write@us', 'peering:read@*'], 'peering:read@us', 'acl:write'], // [ACL-28]
  ];
  for (const [held, wanted, lacks] of rows) {
    const outcome = lacks === undefined ? '200' : `403 for ${lacks}`;
    test(`returns ${outcome} when [${held.join(' ')}] grants ${wanted}`, async () => {
      const api = shared();
      await api.makePartitions('eu', 'us');
      const caller = await api.makeToken(held, { Partition: 'eu' });
      const [, Resource, Access, Partition, names] = /^(\w+):(\w+)@([^=]+)(?:=(.*))?$/.exec(wanted) ?? [];
      const Names = names?.split(',');
      const grant = { Resource, Access, Partition, ...(Names === undefined ? {} : { Names }) };
      const answer = await create(api, { Grants: [grant] }, caller.SecretID);
      if (lacks === undefined) {
        assert.equal(answer.status, 200, answer.text);
        return;
      }
      const text = `Permission denied: token with AccessorID '${caller.AccessorID}' lacks permission '${lacks}'`;
      assert.deepEqual([answer.status, answer.text], [403, text]);
    });
  }
});

test('PUT /v1/acl/bootstrap returns 403 [ACL-46]', async () => {
  await using api = await startApi();
  const answer = await api.request('PUT', '/v1/acl/bootstrap', { token: null });
  assert.deepEqual(
    [answer.status, answer.text],
    [403, 'Permission denied: ACL bootstrap no longer allowed, the first start has made the first credentials'],
  );
});
