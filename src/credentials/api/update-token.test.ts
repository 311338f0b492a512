import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, type MadeToken, sharedApi, startApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';

const update = (api: Api, { AccessorID }: MadeToken, body: unknown, token = api.token): Promise<Answer> =>
  api.request('PUT', `/v1/acl/token/${AccessorID}`, { body, token });

describe('changing a token', () => {
  test('keeps what the body leaves out', async () => {
    await using api = await startApi();
    const made = await api.makeToken(['peering:read'], { Description: 'old' });
    const { SecretID: _, ...shown } = made;
    const described = await update(api, made, { Description: 'new' });
    const { index } = api.state.snapshot;
    assert.equal(described.text, JSON.stringify({ ...shown, Description: 'new', ModifyIndex: index }));
    const granted = await update(api, made, { Grants: [] });
    const expected = { ...shown, Description: 'new', Grants: [], ModifyIndex: index + 1 };
    assert.equal(granted.text, JSON.stringify(expected));
    assert.equal((await api.request('GET', '/v1/acl/token/self', { token: made.SecretID })).text, granted.text);
  });

  test('takes the document that reading gave, changed or not', async () => {
    await using api = await startApi();
    const made = await api.makeToken(['peering:read'], { ExpirationTTL: '1h' });
    const { snapshot } = api.state;
    const read = await api.request('GET', `/v1/acl/token/${made.AccessorID}`);
    const same = await update(api, made, read.text);
    assert.deepEqual([same.status, same.text], [200, read.text]);
    assert.equal(api.state.snapshot, snapshot, 'a change that changes nothing leaves no trace');
    const changed = await update(api, made, { ...read.json<object>(), Description: 'new' });
    assert.equal(changed.json<MadeToken>().Description, 'new');
  });

  test('takes effect on the next request', async () => {
    await using api = await startApi();
    const made = await api.makeToken(['acl:read']);
    const list = () => api.request('GET', '/v1/acl/tokens', { token: made.SecretID });
    assert.equal((await list()).status, 200);
    await update(api, made, { Grants: [{ Resource: 'peering', Access: 'read' }] });
    assert.equal((await list()).status, 403);
  });

  test('means the token wherever it lives, and its partition where a grant names none', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    const made = await api.makeToken([], { Partition: 'eu' });
    const answer = await update(api, made, { Grants: [{ Resource: 'peering', Access: 'read' }] });
    assert.equal(answer.json<MadeToken>().Grants[0]?.Partition, 'eu');
  });
});

describe('a change is refused that', () => {
  const shared = sharedApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
  const refused: readonly (readonly [what: string, body: unknown, status: number, text: string | RegExp])[] = [
    ['is no JSON', 'x', 400, /^Body decoding failed: /],
    ['names a field that is not there', { SecretID: 'x' }, 400, /^Body decoding failed: /],
    ['names another token', { AccessorID: 'x' }, 400, /^AccessorID "x" is not that of the path, "[0-9a-f-]{36}"$/],
    ['names another partition', { Partition: 'eu' }, 404, /^ACL token not found for "[0-9a-f-]{36}"$/],
    ['names a partition that is not there', { Partition: 'nowhere' }, 400, 'partition "nowhere" does not exist'],
    [
      'sets an end',
      { ExpirationTime: '2031-01-01T00:00:00Z' },
      400,
      'ExpirationTime cannot be changed, it is 2030-01-01T01:00:00.000Z: make a new token',
    ],
    [
      'grants what cannot be',
      { Grants: [{ Resource: 'operator', Access: 'read', Names: ['x'] }] },
      400,
      'Grants[0].Names: a grant on operator cannot be limited to names',
    ],
    [
      'grants in a partition that is not there',
      { Grants: [{ Resource: 'acl', Access: 'read', Partition: 'nowhere' }] },
      400,
      'partition "nowhere" does not exist',
    ],
  ];
  for (const [what, body, status, text] of refused) {
    test(what, async () => {
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

  test('is about a token that is not there', async () => {
    await using api = await startApi();
    const missing = randomUUID();
    const answer = await api.request('PUT', `/v1/acl/token/${missing}`, { body: {} });
    assert.deepEqual([answer.status, answer.text], [404, `ACL token not found for "${missing}"`]);
  });

  test('is about a token that has expired', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const made = await api.makeToken([], { ExpirationTTL: '1m' });
    clock.advance(60_000);
    assert.equal((await update(api, made, { Description: 'late' })).status, 404);
  });
});

describe('whoever changes a token', () => {
  const cases: readonly (readonly [name: string, maker: string[], has: string[], next: string[], lacks?: string])[] = [
    ['holds what it has and will have', ['acl:write', 'peering:write'], ['peering:read'], ['peering:write']],
    ['lacks what it has', ['acl:write'], ['peering:read'], [], 'peering:read'],
    ['lacks what it will have', ['acl:write'], [], ['peering:read'], 'peering:read'],
    ['may only read tokens', ['acl:read'], [], [], 'acl:write'],
  ];
  for (const [name, grants, has, next, lacks] of cases) {
    test(`${name} ${lacks === undefined ? 'may' : 'may not'}`, async () => {
      await using api = await startApi();
      const maker = await api.makeToken(grants);
      const made = await api.makeToken(has);
      const Grants = next.map((text) => {
        const [Resource, Access] = text.split(':');
        return { Resource, Access };
      });
      const answer = await update(api, made, { Description: 'x', Grants }, maker.SecretID);
      assert.equal(answer.status, lacks === undefined ? 200 : 403, answer.text);
      if (lacks !== undefined) {
        const text = `Permission denied: token with AccessorID '${maker.AccessorID}' lacks permission '${lacks}'`;
        assert.equal(answer.text, text);
      }
    });
  }
});
