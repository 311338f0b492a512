import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, type CreatedToken, sharedApi, startApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';

const update = (api: Api, { AccessorID }: CreatedToken, body: unknown, token = api.token): Promise<Answer> =>
  api.request('PUT', `/v1/acl/token/${AccessorID}`, { body, token });

describe('PUT /v1/acl/token/:accessor', () => {
  test('keeps what the body omits [ACL-41]', async () => {
    await using api = await startApi();
    const made = await api.makeToken(['peering:read'], { Description: 'old' });
    const { SecretID: _, ...document } = made;
    const described = await update(api, made, { Description: 'new' });
    const { index } = api.state.snapshot;
    assert.equal(described.text, JSON.stringify({ ...document, Description: 'new', ModifyIndex: index }));
    const granted = await update(api, made, { Grants: [] });
    const expected = { ...document, Description: 'new', Grants: [], ModifyIndex: index + 1 };
    assert.equal(granted.text, JSON.stringify(expected));
    assert.equal((await api.request('GET', '/v1/acl/token/self', { token: made.SecretID })).text, granted.text);
  });

  test('accepts the document of a read, changed or not', async () => {
    await using api = await startApi();
    const made = await api.makeToken(['peering:read'], { ExpirationTTL: '1h' });
    const { snapshot } = api.state;
    const read = await api.request('GET', `/v1/acl/token/${made.AccessorID}`);
    const same = await update(api, made, read.text);
    assert.deepEqual([same.status, same.text], [200, read.text]);
    assert.equal(api.state.snapshot, snapshot, 'an equal document makes no commit');
    const changed = await update(api, made, { ...read.json<object>(), Description: 'new' });
    assert.equal(changed.json<CreatedToken>().Description, 'new');
  });

  test('applies the changed grants to the next request', async () => {
    await using api = await startApi();
    const made = await api.makeToken(['acl:read']);
    const list = () => api.request('GET', '/v1/acl/tokens', { token: made.SecretID });
    assert.equal((await list()).status, 200);
    await update(api, made, { Grants: [{ Resource: 'peering', Access: 'read' }] });
    assert.equal((await list()).status, 403);
  });

  test('finds the token in any partition, and uses that for grants without a partition [ACL-19] [ACL-37]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    const made = await api.makeToken([], { Partition: 'eu' });
    const answer = await update(api, made, { Grants: [{ Resource: 'peering', Access: 'read' }] });
    assert.equal(answer.json<CreatedToken>().Grants[0]?.Partition, 'eu');
  });
});

describe('PUT /v1/acl/token/:accessor rejects', () => {
  const shared = sharedApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
  const rejected: readonly (readonly [fault: string, body: unknown, status: number, text: string | RegExp])[] = [
    ['a body that is not JSON', 'x', 400, /^Body decoding failed: /],
    ['an unknown field', { SecretID: 'x' }, 400, /^Body decoding failed: /],
    [
      'another accessor ID [ACL-42]',
      { AccessorID: 'x' },
      400,
      /^AccessorID "x" is not that of the path, "[0-9a-f-]{36}"$/,
    ],
    ['another partition', { Partition: 'eu' }, 404, /^ACL token not found for "[0-9a-f-]{36}"$/],
    ['a missing partition', { Partition: 'nowhere' }, 400, 'partition "nowhere" does not exist'],
    [
      'another expiration time [ACL-43]',
      { ExpirationTime: '2031-01-01T00:00:00Z' },
      400,
      'ExpirationTime cannot be changed, it is 2030-01-01T01:00:00.000Z: make a new token',
    ],
    [
      'an invalid grant',
      { Grants: [{ Resource: 'operator', Access: 'read', Names: ['x'] }] },
      400,
      'Grants[0].Names: a grant on operator cannot be limited to names',
    ],
    [
      'a grant with a missing partition',
      { Grants: [{ Resource: 'acl', Access: 'read', Partition: 'nowhere' }] },
      400,
      'partition "nowhere" does not exist',
    ],
  ];
  for (const [fault, body, status, text] of rejected) {
    test(fault, async () => {
      const api = shared();
      await api.makePartitions('eu');
      const made = await api.makeToken(['peering:read'], { ExpirationTTL: '1h' });
      const { snapshot } = api.state;
      const answer = await update(api, made, body);
      assert.equal(answer.status, status, answer.text);
      if (typeof text === 'string') assert.equal(answer.text, text);
      else assert.match(answer.text, text);
      assert.equal(api.state.snapshot, snapshot);
    });
  }

  test('a missing token [ACL-40]', async () => {
    await using api = await startApi();
    const missing = randomUUID();
    const answer = await api.request('PUT', `/v1/acl/token/${missing}`, { body: {} });
    assert.deepEqual([answer.status, answer.text], [404, `ACL token not found for "${missing}"`]);
  });

  test('an expired token', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const made = await api.makeToken([], { ExpirationTTL: '1m' });
    clock.advance(60_000);
    assert.equal((await update(api, made, { Description: 'late' })).status, 404);
  });
});

describe('PUT /v1/acl/token/:accessor [ACL-29]', () => {
  const cases: readonly (readonly [
    condition: string,
    held: string[],
    existing: string[],
    wanted: string[],
    lacks?: string,
  ])[] = [
    ['holds the existing and the new grants', ['acl:write', 'peering:write'], ['peering:read'], ['peering:write']],
    ['lacks an existing grant', ['acl:write'], ['peering:read'], [], 'peering:read'],
    ['lacks a new grant', ['acl:write'], [], ['peering:read'], 'peering:read'],
    ['may only read tokens', ['acl:read'], [], [], 'acl:write'], // [ACL-28]
  ];
  for (const [condition, held, existing, wanted, lacks] of cases) {
    test(`returns ${lacks === undefined ? 200 : 403} when the caller ${condition}`, async () => {
      await using api = await startApi();
      const caller = await api.makeToken(held);
      const made = await api.makeToken(existing);
      const Grants = wanted.map((text) => {
        const [Resource, Access] = text.split(':');
        return { Resource, Access };
      });
      const answer = await update(api, made, { Description: 'x', Grants }, caller.SecretID);
      assert.equal(answer.status, lacks === undefined ? 200 : 403, answer.text);
      if (lacks !== undefined) {
        const text = `Permission denied: token with AccessorID '${caller.AccessorID}' lacks permission '${lacks}'`;
        assert.equal(answer.text, text);
      }
    });
  }
});
