import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import {
  indexOfAnswer,
  mustGenerate,
  mustPeer,
  mustReadRecord,
  requestEstablish,
  statusAndText,
  tokenContent,
} from '../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { acceptedSecrets } from '../record/secrets.ts';

const status = (api: Api, name: string, query = '') => api.request('GET', `/v1/peering/${name}/token${query}`);
const revoke = (api: Api, name: string) => api.request('DELETE', `/v1/peering/${name}/token`);

describe('GET /v1/peering/:name/token [PEER-46]', () => {
  test('returns creation time, accessor ID and expiry, but not the token', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
    const { AccessorID } = (await api.request('GET', '/v1/acl/token/self')).json<{ AccessorID: string }>();
    const { EstablishmentSecret } = tokenContent(await mustGenerate(api, 'east'));
    const answer = await status(api, 'EAST');
    const shown = {
      Outstanding: true,
      CreateTime: '2030-01-01T00:00:00.000Z',
      AccessorID,
      ExpirationTime: '2030-01-08T00:00:00.000Z',
    };
    assert.deepEqual(statusAndText(answer), [200, JSON.stringify(shown)]);
    assert.ok(!answer.text.includes(EstablishmentSecret));
  });

  test('omits the expiry without peering.token-ttl, and the accessor ID without ACLs [PEER-44]', async () => {
    await using api = await startApi({ policy: { enabled: false }, peering: { tokenTtlMs: 0 } });
    await mustGenerate(api, 'east');
    const shown = (await status(api, 'east')).json<object>();
    assert.deepEqual(Object.keys(shown), ['Outstanding', 'CreateTime']);
  });

  test('reports no outstanding token when it was used, was revoked, expired or never existed', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock });
    await using other = await startApi();
    await mustGenerate(api, 'expired');
    clock.advance(7 * 86_400_000);
    await mustPeer(api, 'used', other, 'x');
    await mustGenerate(api, 'revoked');
    await revoke(api, 'revoked');
    await mustGenerate(api, 'deleted');
    await api.request('DELETE', '/v1/peering/deleted');
    await mustPeer(other, 'y', api, 'dialing');
    for (const name of ['expired', 'used', 'revoked', 'deleted', 'dialing']) {
      assert.deepEqual(statusAndText(await status(api, name)), [200, '{"Outstanding":false}'], name);
    }
    assert.deepEqual(statusAndText(await status(api, 'none')), [404, 'Peering not found for "none"']);
    assert.equal((await status(api, 'a_b')).status, 400);
  });

  test('wakes a blocking query when the token is used, and when the peering appears', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.now()) });
    await using other = await startApi();
    const missing = await status(api, 'east');
    const appears = await api.startBlockingQuery(`/v1/peering/east/token?index=${indexOfAnswer(missing)}`);
    const token = await mustGenerate(api, 'east');
    const there = await appears.answer;
    assert.equal(there.json<{ Outstanding: boolean }>().Outstanding, true);
    const used = await api.startBlockingQuery(`/v1/peering/east/token?index=${indexOfAnswer(there)}`);
    await requestEstablish(other, 'x', token);
    const after = await used.answer;
    assert.equal(after.text, '{"Outstanding":false}');
    assert.ok(indexOfAnswer(after) > indexOfAnswer(there));
  });
});

describe('a blocking query about an outstanding token', () => {
  test('returns once when the token expires [PEER-46]', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock, peering: { tokenTtlMs: 60_000 } });
    await mustGenerate(api, 'east');
    const there = await status(api, 'east');
    const waiting = await api.startBlockingQuery(`/v1/peering/east/token?index=${indexOfAnswer(there)}&wait=5m`);
    clock.advance(60_000);
    const after = await waiting.answer;
    assert.deepEqual(statusAndText(after), [200, '{"Outstanding":false}']);
    const next = await api.startBlockingQuery(`/v1/peering/east/token?index=${indexOfAnswer(after)}&wait=5m`);
    await mustGenerate(api, 'east');
    assert.equal((await next.answer).json<{ Outstanding: boolean }>().Outstanding, true);
  });

  test('returns 403 when the ACL token of the caller expires first', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock, peering: { tokenTtlMs: 60_000 } });
    await mustGenerate(api, 'east');
    const { SecretID: token } = await api.makeToken(['peering:write'], { ExpirationTTL: '30s' });
    const index = indexOfAnswer(await status(api, 'east'));
    const waiting = await api.startBlockingQuery(`/v1/peering/east/token?index=${index}&wait=5m`, { token });
    clock.advance(30_000);
    assert.equal((await waiting.answer).status, 403);
  });
});

describe('DELETE /v1/peering/:name/token', () => {
  test('revokes the unused token, keeps stream secrets, and is idempotent [PEER-47]', async () => {
    await using api = await startApi();
    await using other = await startApi();
    await mustPeer(api, 'east', other, 'west');
    const { ID } = await mustReadRecord(api, 'east');
    const stored = api.state.snapshot.get(acceptedSecrets, ID)?.row;
    const token = await mustGenerate(api, 'east');
    assert.deepEqual(statusAndText(await revoke(api, 'EAST')), [200, '']);
    assert.deepEqual(api.state.snapshot.get(acceptedSecrets, ID)?.row, stored);
    assert.equal((await requestEstablish(other, 'west', token)).status, 403);
    const { snapshot } = api.state;
    for (const name of ['east', 'none']) assert.deepEqual(statusAndText(await revoke(api, name)), [200, '']);
    assert.equal((await revoke(api, 'a_b')).status, 400);
    assert.equal(api.state.snapshot, snapshot);
  });
});
