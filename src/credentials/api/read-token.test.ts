import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { startApi } from '../../../test/support/process/api.ts';
import { aclTokens } from '../acl-token.ts';

describe('GET /v1/acl/token/:accessor', () => {
  test('omits the secret ID and ignores the case of the accessor ID [ACL-14]', async () => {
    await using api = await startApi();
    const made = await api.makeToken(['peering:read']);
    const answer = await api.request('GET', `/v1/acl/token/${made.AccessorID.toUpperCase()}`);
    assert.equal(answer.status, 200);
    assert.equal(Object.hasOwn(answer.json<object>(), 'SecretID'), false);
    assert.equal(answer.headers['x-service-index'], String(made.ModifyIndex));
  });

  test('finds the token in any partition unless the request names one [ACL-37]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    const { AccessorID } = await api.makeToken([], { Partition: 'eu' });
    const at = (query: string) => api.request('GET', `/v1/acl/token/${AccessorID}${query}`);
    assert.equal((await at('')).status, 200);
    assert.equal((await at('?partition=EU')).status, 200);
    const elsewhere = await at('?partition=default');
    assert.deepEqual([elsewhere.status, elsewhere.text], [404, `ACL token not found for "${AccessorID}"`]);
    const nowhere = await at('?partition=nowhere');
    assert.deepEqual([nowhere.status, nowhere.text], [400, 'partition "nowhere" does not exist']);
    const all = await at('?partition=*');
    assert.equal(all.status, 400);
    assert.match(all.text, /^\* is not a valid partition name: /);
  });

  test('requires acl:read in the partition of the token', async () => {
    await using api = await startApi();
    await api.makePartitions('eu', 'us');
    const { AccessorID } = await api.makeToken([], { Partition: 'eu' });
    const eu = await api.makeToken(['acl:read@eu'], { Partition: 'us' });
    const us = await api.makeToken(['acl:read@us'], { Partition: 'us' });
    const as = (token: string, id = AccessorID) => api.request('GET', `/v1/acl/token/${id}`, { token });
    assert.equal((await as(eu.SecretID)).status, 200);
    // As for a token that does not exist, and with the same index [ACL-37].
    const [foreign, missing] = [await as(us.SecretID), await as(us.SecretID, crypto.randomUUID())];
    assert.deepEqual([foreign.status, missing.status], [404, 404]);
    assert.equal(foreign.headers['x-service-index'], missing.headers['x-service-index']);
    const query = await api.request('GET', `/v1/acl/token/${AccessorID}?partition=eu`, { token: us.SecretID });
    assert.equal(query.status, 403);
  });

  test('finds and deletes a token whose maker was deleted', async () => {
    await using api = await startApi();
    const maker = await api.makeToken(['acl:write@default']);
    const made = await api.request('PUT', '/v1/acl/token', { body: {}, token: maker.SecretID });
    const { AccessorID } = made.json<{ readonly AccessorID: string }>();
    assert.equal((await api.request('DELETE', `/v1/acl/token/${maker.AccessorID}`)).status, 200);
    const listed = (await api.request('GET', '/v1/acl/tokens?partition=*')).json<readonly { AccessorID: string }[]>();
    assert.ok(listed.some((token) => token.AccessorID === AccessorID));
    assert.equal((await api.request('DELETE', `/v1/acl/token/${AccessorID}`)).status, 200);
    assert.equal((await api.request('GET', `/v1/acl/token/${AccessorID}`)).status, 404);
  });

  test('returns 404 for a missing token, and a waiting query wakes when it appears [ACL-40] [V1-77]', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const made = await api.makeToken([]);
    await api.request('DELETE', `/v1/acl/token/${made.AccessorID}`);
    const path = `/v1/acl/token/${made.AccessorID}`;
    const missing = await api.request('GET', path);
    assert.deepEqual([missing.status, missing.text], [404, `ACL token not found for "${made.AccessorID}"`]);
    const { answer } = await api.startBlockingQuery(`${path}?index=${missing.headers['x-service-index']}`);
    // Clients cannot choose accessor IDs, so the test recreates the row in the state.
    const { AccessorID: accessorId, Description: description, CreateTime: createTime } = made;
    const token = { accessorId, description, createTime, secretHash: 'x', partition: 'default', grants: [] };
    await api.state.write((tx) => tx.put(aclTokens, token));
    assert.equal((await answer).status, 200);
  });
});

describe('a query that waits for a token', () => {
  test('wakes when the token changes', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const { AccessorID, ModifyIndex } = await api.makeToken([]);
    const { answer } = await api.startBlockingQuery(`/v1/acl/token/${AccessorID}?index=${ModifyIndex}`);
    await api.makeToken([]);
    assert.equal(api.reads.waitingCount, 1, 'another token does not wake it');
    await api.request('PUT', `/v1/acl/token/${AccessorID}`, { body: { Description: 'new' } });
    const { text, headers } = await answer;
    assert.match(text, /"Description":"new"/);
    assert.ok(Number(headers['x-service-index']) > ModifyIndex);
  });

  test('returns 404 with a higher index when the token is deleted', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const { AccessorID, ModifyIndex } = await api.makeToken([]);
    const { answer } = await api.startBlockingQuery(`/v1/acl/token/${AccessorID}?index=${ModifyIndex}`);
    await api.request('DELETE', `/v1/acl/token/${AccessorID}`);
    const { status, headers } = await answer;
    assert.equal(status, 404);
    assert.ok(Number(headers['x-service-index']) > ModifyIndex);
  });

  test('returns the current token when wait is over [V1-73]', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const { AccessorID, ModifyIndex } = await api.makeToken([]);
    const { answer } = await api.startBlockingQuery(`/v1/acl/token/${AccessorID}?index=${ModifyIndex}&wait=30s`);
    clock.advance(29_999);
    assert.equal(api.reads.waitingCount, 1);
    clock.advance(1);
    const { status, headers } = await answer;
    assert.deepEqual([status, headers['x-service-index']], [200, String(ModifyIndex)]);
  });
});

describe('GET /v1/acl/token/self [ACL-36]', () => {
  test('requires no grant', async () => {
    await using api = await startApi();
    const { AccessorID, SecretID } = await api.makeToken([]);
    const answer = await api.request('GET', '/v1/acl/token/self', { token: SecretID });
    assert.equal(answer.json<{ AccessorID: string }>().AccessorID, AccessorID);
  });

  test('returns 403 for the anonymous token [ACL-63]', async () => {
    await using api = await startApi();
    const answer = await api.request('GET', '/v1/acl/token/self', { token: null });
    assert.equal(answer.status, 403);
    assert.equal(
      answer.text,
      "Permission denied: anonymous token lacks permission 'acl:read'. The anonymous token is used implicitly when a request does not specify a token.",
    );
  });

  test('returns 400 for a missing partition [ACL-50]', async () => {
    await using api = await startApi();
    const answer = await api.request('GET', '/v1/acl/token/self?partition=nowhere');
    assert.deepEqual([answer.status, answer.text], [400, 'partition "nowhere" does not exist']);
  });

  test('tells a caller without a grant in a partition nothing about it [ACL-50]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    const { SecretID: token } = await api.makeToken(['services:write@default']);
    const textOf = async (partition: string) => {
      const { status, text } = await api.request('GET', `/v1/acl/token/self?partition=${partition}`, { token });
      return [status, text];
    };
    assert.deepEqual(await textOf('nowhere'), await textOf('eu'));
  });

  test('returns 404 with acl.enabled: false', async () => {
    await using api = await startApi({ policy: { enabled: false } });
    const answer = await api.request('GET', '/v1/acl/token/self');
    assert.deepEqual(
      [answer.status, answer.text],
      [404, 'tokens are not checked: acl.enabled is false, so every request is allowed'],
    );
  });
});

describe('a waiting query returns 403 when its token [V1-79]', () => {
  // The result of the query does not depend on the token.
  const holdList = async (api: Awaited<ReturnType<typeof startApi>>, token: string) => {
    const { index } = api.state.snapshot;
    return await api.startBlockingQuery(`/v1/acl/tokens?partition=quiet&index=${index}`, { token });
  };

  test('is deleted', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    await api.makePartitions('quiet');
    const { AccessorID, SecretID } = await api.makeToken(['acl:read@quiet']);
    const { answer } = await holdList(api, SecretID);
    await api.request('DELETE', `/v1/acl/token/${AccessorID}`);
    const { status, text } = await answer;
    assert.deepEqual([status, text], [403, 'ACL not found']);
  });

  test('expires', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    await api.makePartitions('quiet');
    const { SecretID } = await api.makeToken(['acl:read@quiet'], { ExpirationTTL: '1m' });
    const { answer } = await holdList(api, SecretID);
    clock.advance(59_999);
    assert.equal(api.reads.waitingCount, 1);
    clock.advance(1);
    const { status, text } = await answer;
    assert.deepEqual([status, text], [403, 'ACL not found']);
  });

  test('loses the grant', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    await api.makePartitions('quiet');
    const { AccessorID, SecretID } = await api.makeToken(['acl:read@quiet']);
    const { answer } = await holdList(api, SecretID);
    await api.request('PUT', `/v1/acl/token/${AccessorID}`, { body: { Grants: [] } });
    const { status, text } = await answer;
    assert.equal(status, 403);
    assert.equal(text, `Permission denied: token with AccessorID '${AccessorID}' lacks permission 'acl:read'`);
  });
});
