import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { generated, indexOf, opened, peer, present, record, seen } from '../../test/support/peering/peering.ts';
import { type Api, startApi } from '../../test/support/process/api.ts';
import { acceptedSecrets } from './record/secrets.ts';

const status = (api: Api, name: string, query = '') => api.request('GET', `/v1/peering/${name}/token${query}`);
const revoke = (api: Api, name: string) => api.request('DELETE', `/v1/peering/${name}/token`);

describe('what is told of a token', () => {
  test('is when it was made, by whom and until when, never the token', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
    const { AccessorID } = (await api.request('GET', '/v1/acl/token/self')).json<{ AccessorID: string }>();
    const { EstablishmentSecret } = opened(await generated(api, 'east'));
    const answer = await status(api, 'EAST');
    const shown = {
      Outstanding: true,
      CreateTime: '2030-01-01T00:00:00.000Z',
      AccessorID,
      ExpirationTime: '2030-01-08T00:00:00.000Z',
    };
    assert.deepEqual(seen(answer), [200, JSON.stringify(shown)]);
    assert.ok(!answer.text.includes(EstablishmentSecret));
  });

  test('has no end where tokens have none, and no maker where nobody is asked', async () => {
    await using api = await startApi({ policy: { enabled: false }, peering: { tokenTtlMs: 0 } });
    await generated(api, 'east');
    const shown = (await status(api, 'east')).json<object>();
    assert.deepEqual(Object.keys(shown), ['Outstanding', 'CreateTime']);
  });

  test('is that none is out once it is used, revoked or expired, and where none ever was', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock });
    await using other = await startApi();
    await generated(api, 'expired');
    clock.advance(7 * 86_400_000);
    await peer(api, 'used', other, 'x');
    await generated(api, 'revoked');
    await revoke(api, 'revoked');
    await generated(api, 'deleted');
    await api.request('DELETE', '/v1/peering/deleted');
    await peer(other, 'y', api, 'dialing');
    for (const name of ['expired', 'used', 'revoked', 'deleted', 'dialing']) {
      assert.deepEqual(seen(await status(api, name)), [200, '{"Outstanding":false}'], name);
    }
    assert.deepEqual(seen(await status(api, 'none')), [404, 'Peering not found for "none"']);
    assert.equal((await status(api, 'a_b')).status, 400);
  });

  test('can be waited for: until it is used, and until its peering appears', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.now()) });
    await using other = await startApi();
    const missing = await status(api, 'east');
    const appears = await api.hold(`/v1/peering/east/token?index=${indexOf(missing)}`);
    const token = await generated(api, 'east');
    const there = await appears.answer;
    assert.equal(there.json<{ Outstanding: boolean }>().Outstanding, true);
    const used = await api.hold(`/v1/peering/east/token?index=${indexOf(there)}`);
    await present(other, 'x', token);
    const after = await used.answer;
    assert.equal(after.text, '{"Outstanding":false}');
    assert.ok(indexOf(after) > indexOf(there));
  });
});

describe('who waits while a token is out', () => {
  test('is told when it expires, once', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock, peering: { tokenTtlMs: 60_000 } });
    await generated(api, 'east');
    const there = await status(api, 'east');
    const waiting = await api.hold(`/v1/peering/east/token?index=${indexOf(there)}&wait=5m`);
    clock.advance(60_000);
    const after = await waiting.answer;
    assert.deepEqual(seen(after), [200, '{"Outstanding":false}']);
    const next = await api.hold(`/v1/peering/east/token?index=${indexOf(after)}&wait=5m`);
    await generated(api, 'east');
    assert.equal((await next.answer).json<{ Outstanding: boolean }>().Outstanding, true);
  });

  test('gets 403 when its own token expires first', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock, peering: { tokenTtlMs: 60_000 } });
    await generated(api, 'east');
    const { SecretID: token } = await api.makeToken(['peering:write'], { ExpirationTTL: '30s' });
    const index = indexOf(await status(api, 'east'));
    const waiting = await api.hold(`/v1/peering/east/token?index=${index}&wait=5m`, { token });
    clock.advance(30_000);
    assert.equal((await waiting.answer).status, 403);
  });
});

describe('revoking a token', () => {
  test('ends it, keeps what was exchanged before, and does no more when done again', async () => {
    await using api = await startApi();
    await using other = await startApi();
    await peer(api, 'east', other, 'west');
    const { ID } = await record(api, 'east');
    const kept = api.state.snapshot.get(acceptedSecrets, ID)?.row;
    const token = await generated(api, 'east');
    assert.deepEqual(seen(await revoke(api, 'EAST')), [200, '']);
    assert.deepEqual(api.state.snapshot.get(acceptedSecrets, ID)?.row, kept);
    assert.equal((await present(other, 'west', token)).status, 403);
    const { snapshot } = api.state;
    for (const name of ['east', 'none']) assert.deepEqual(seen(await revoke(api, name)), [200, '']);
    assert.equal((await revoke(api, 'a_b')).status, 400);
    assert.equal(api.state.snapshot, snapshot);
  });
});
