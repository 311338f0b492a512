import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { type Api, startApi } from '../../test/support/process/api.ts';
import { until } from '../../test/support/until.ts';
import { SYSTEM } from '../audit/record.ts';
import { expiryJob } from '../state/jobs/expiry.ts';
import { aclTokens } from './acl-token.ts';
import { type AclPolicy, authenticate } from './caller.ts';
import { recordTokenChange } from './change-token.ts';
import { permits, RESOURCES } from './grant.ts';
import { hashSecret } from './secret.ts';

const MINUTE_MS = 60_000;

describe('a token with an end', () => {
  const self = (api: Api, token: string) => api.request('GET', '/v1/acl/token/self', { token });

  test('works to the last millisecond and no longer', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const { SecretID } = await api.makeToken([], { ExpirationTTL: '1m' });
    clock.advance(MINUTE_MS - 1);
    assert.equal((await self(api, SecretID)).status, 200);
    clock.advance(1);
    const { status, text } = await self(api, SecretID);
    assert.deepEqual([status, text], [403, 'ACL not found']);
  });

  test('does not exist past it, though nothing has removed it', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const { AccessorID } = await api.makeToken([], { ExpirationTTL: '1m' });
    clock.advance(MINUTE_MS);
    assert.equal((await api.request('GET', `/v1/acl/token/${AccessorID}`)).status, 404);
    assert.equal((await api.request('GET', '/v1/acl/tokens')).json<unknown[]>().length, 1);
  });

  test('is removed in the background, and the audit log says so', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    api.state.addJob(
      expiryJob(api.state, aclTokens, clock, (tx, stored) =>
        recordTokenChange(tx, SYSTEM, 'expire', stored, undefined),
      ),
    );
    const { SecretID: _, ...shown } = await api.makeToken(['peering:read'], { ExpirationTTL: '1m' });
    const stored = () => api.state.snapshot.trees.get(aclTokens)?.rows.size;
    assert.equal(stored(), 2);
    clock.advance(MINUTE_MS);
    await until('it is removed', () => stored() === 1);
    const [entry] = (await api.request('GET', '/v1/audit?limit=1')).json<Record<string, unknown>[]>();
    assert.deepEqual(entry, {
      Time: new Date(clock.now()).toISOString(),
      Actor: 'system',
      Address: '',
      RequestID: '',
      Action: 'expire',
      Type: 'acl-token',
      Subject: shown.AccessorID,
      Partition: 'default',
      Before: shown,
      After: null,
    });
  });
});

describe('what a caller holds', () => {
  const policies: readonly (readonly [
    name: string,
    policy: AclPolicy,
    anonymous: readonly string[],
    weak: readonly string[],
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
  for (const [name, policy, anonymous, weak] of policies) {
    test(`under ${name}`, async () => {
      await using api = await startApi();
      const { SecretID } = await api.makeToken(['acl:write@default']);
      const writes = (secretHash: string | undefined): string[] => {
        const { grants } = authenticate(api.state.snapshot, secretHash, policy);
        return RESOURCES.filter((resource) => permits(grants, { resource, access: 'write', partition: 'default' }));
      };
      assert.deepEqual(writes(undefined), anonymous);
      assert.deepEqual(writes(hashSecret(SecretID)), weak);
      if (policy.enabled) assert.throws(() => writes(hashSecret('unknown')), { message: 'ACL not found' });
      else assert.deepEqual(writes(hashSecret('unknown')), RESOURCES);
    });
  }
});

test('a token held back by limits.waiting-per-token says which limit', async () => {
  await using api = await startApi({ clock: createFakeClock(), waitingPerTokenMax: 1 });
  const { index } = api.state.snapshot;
  const { answer } = await api.hold(`/v1/acl/tokens?index=${index}`);
  const more = await api.request('GET', `/v1/acl/tokens?index=${index}`);
  assert.equal(more.status, 429);
  assert.match(more.text, /limits\.waiting-per-token/);
  const { SecretID } = await api.makeToken(['acl:read']);
  assert.equal((await answer).status, 200);
  await api.hold(`/v1/acl/tokens?index=${api.state.snapshot.index}`, { token: SecretID });
  await api.hold(`/v1/acl/tokens?index=${api.state.snapshot.index}`);
});
