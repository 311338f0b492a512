import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { type Api, startApi } from '../../test/support/process/api.ts';
import { until } from '../../test/support/until.ts';
import { SYSTEM } from '../audit/record.ts';
import { expiryJob } from '../state/jobs/expiry.ts';
import { aclTokens, permits, RESOURCES } from './acl-token.ts';
import { type AclPolicy, authenticate } from './caller.ts';
import { recordTokenChange } from './change-token.ts';
import { hashSecret } from './ids-and-secrets.ts';

const MINUTE_MS = 60_000;

describe('a token with an expiration time', () => {
  const self = (api: Api, token: string) => api.request('GET', '/v1/acl/token/self', { token });

  test('stops working at that millisecond [ACL-15]', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const { SecretID } = await api.makeToken([], { ExpirationTTL: '1m' });
    clock.advance(MINUTE_MS - 1);
    assert.equal((await self(api, SecretID)).status, 200);
    clock.advance(1);
    const { status, text } = await self(api, SecretID);
    assert.deepEqual([status, text], [403, 'ACL not found']);
  });

  test('is missing after it expires, before its row is deleted', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const { AccessorID } = await api.makeToken([], { ExpirationTTL: '1m' });
    clock.advance(MINUTE_MS);
    assert.equal((await api.request('GET', `/v1/acl/token/${AccessorID}`)).status, 404);
    assert.equal((await api.request('GET', '/v1/acl/tokens')).json<unknown[]>().length, 1);
  });

  test('is deleted by the background job, which adds an audit entry', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    api.state.addJob(
      expiryJob(api.state, aclTokens, clock, (tx, stored) =>
        recordTokenChange(tx, SYSTEM, 'expire', stored, undefined),
      ),
    );
    const { SecretID: _, ...document } = await api.makeToken(['peering:read'], { ExpirationTTL: '1m' });
    const storedCount = () => api.state.snapshot.tables.get(aclTokens)?.rows.size;
    assert.equal(storedCount(), 2);
    clock.advance(MINUTE_MS);
    await until('the token is deleted', () => storedCount() === 1);
    const [entry] = (await api.request('GET', '/v1/audit?limit=1')).json<Record<string, unknown>[]>();
    assert.deepEqual(entry, {
      Time: new Date(clock.now()).toISOString(),
      Actor: 'system',
      Address: '',
      RequestID: '',
      Action: 'expire',
      Type: 'acl-token',
      Subject: document.AccessorID,
      Partition: 'default',
      Before: document,
      After: null,
    });
  });
});

describe('authenticate', () => {
  const policies: readonly (readonly [
    name: string,
    policy: AclPolicy,
    writableByAnonymous: readonly string[],
    writableByToken: readonly string[],
  ])[] = [
    ['acl.default-policy: deny', { enabled: true, defaultPolicy: 'deny' }, [], ['acl']],
    [
      'acl.default-policy: allow',
      { enabled: true, defaultPolicy: 'allow' },
      ['peering', 'services', 'config'],
      ['peering', 'services', 'config', 'acl'],
    ],
    ['acl.enabled: false', { enabled: false, defaultPolicy: 'deny' }, RESOURCES, RESOURCES],
  ];
  for (const [name, policy, writableByAnonymous, writableByToken] of policies) {
    test(`returns the grants of the token and the policy with ${name} [ACL-9] [ACL-10] [ACL-11]`, async () => {
      await using api = await startApi();
      const { SecretID } = await api.makeToken(['acl:write@default']);
      const writable = (secretHash: string | undefined): string[] => {
        const { grants } = authenticate(api.state.snapshot, secretHash, policy);
        return RESOURCES.filter((resource) => permits(grants, { resource, access: 'write', partition: 'default' }));
      };
      assert.deepEqual(writable(undefined), writableByAnonymous);
      assert.deepEqual(writable(hashSecret(SecretID)), writableByToken);
      if (policy.enabled) assert.throws(() => writable(hashSecret('unknown')), { message: 'ACL not found' });
      else assert.deepEqual(writable(hashSecret('unknown')), RESOURCES);
    });
  }
});

test('a query beyond limits.waiting-per-token gets 429 with the name of the limit [V1-81]', async () => {
  await using api = await startApi({ clock: createFakeClock(), waitingPerTokenMax: 1 });
  const { index } = api.state.snapshot;
  const { answer } = await api.startBlockingQuery(`/v1/acl/tokens?index=${index}`);
  const rejected = await api.request('GET', `/v1/acl/tokens?index=${index}`);
  assert.equal(rejected.status, 429);
  assert.match(rejected.text, /limits\.waiting-per-token/);
  const { SecretID } = await api.makeToken(['acl:read']);
  assert.equal((await answer).status, 200);
  await api.startBlockingQuery(`/v1/acl/tokens?index=${api.state.snapshot.index}`, { token: SecretID });
  await api.startBlockingQuery(`/v1/acl/tokens?index=${api.state.snapshot.index}`);
});
