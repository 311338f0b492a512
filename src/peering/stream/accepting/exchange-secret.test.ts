import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { generated, opened, record } from '../../../../test/support/peering/peering.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import { ServiceError } from '../../../http/errors.ts';
import { isStateError } from '../../../state/errors.ts';
import { peerings, terminatedByPeer } from '../../record/record.ts';
import { acceptedSecrets, hashOf, presentedStreamSecret } from '../../record/secrets.ts';
import { exchangeSecret } from './exchange-secret.ts';

const exchange = (api: Api, peerId: string, establishmentSecret: string): Promise<string> =>
  exchangeSecret(api.peering, { peerId, establishmentSecret, address: '192.0.2.1', gone: { aborted: false } });

const isRefused = (error: unknown): boolean =>
  error instanceof ServiceError &&
  error.code === 'permission-denied' &&
  error.message === 'invalid peering establishment secret';

describe('exchanging an establishment secret', () => {
  test('gives a stream secret, of which a hash is kept, and leaves the record as it is', async () => {
    await using api = await startApi();
    const { PeerID, EstablishmentSecret } = opened(await generated(api, 'east'));
    const before = await record(api, 'east');
    const secret = await exchange(api, PeerID, EstablishmentSecret);
    const kept = api.state.snapshot.get(acceptedSecrets, PeerID)?.row;
    assert.deepEqual(kept, { peeringId: PeerID, pending: hashOf(secret) });
    assert.equal(presentedStreamSecret(kept, secret)?.which, 'pending');
    assert.equal(presentedStreamSecret(kept, EstablishmentSecret), undefined);
    assert.deepEqual(await record(api, 'east'), before);
  });

  test('is done once, however often it is asked for at once', async () => {
    await using api = await startApi();
    const { PeerID, EstablishmentSecret } = opened(await generated(api, 'east'));
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => exchange(api, PeerID, EstablishmentSecret)),
    );
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const result of results) if (result.status === 'rejected') assert.ok(isRefused(result.reason));
  });

  test('is not done for who has left, and can still be done', async () => {
    await using api = await startApi();
    const { PeerID: peerId, EstablishmentSecret } = opened(await generated(api, 'east'));
    const presented = { peerId, establishmentSecret: EstablishmentSecret, address: '192.0.2.1' };
    await assert.rejects(exchangeSecret(api.peering, { ...presented, gone: AbortSignal.abort() }), (error) =>
      isStateError(error, 'aborted'),
    );
    assert.notEqual(await exchange(api, peerId, EstablishmentSecret), '');
  });

  test('puts a later pending secret in the place of an unused one, and keeps the active one', async () => {
    await using api = await startApi();
    const { PeerID, EstablishmentSecret } = opened(await generated(api, 'east'));
    const first = await exchange(api, PeerID, EstablishmentSecret);
    await api.state.write((tx) => {
      const next = presentedStreamSecret(tx.get(acceptedSecrets, PeerID)?.row, first)?.next;
      if (next !== undefined) tx.put(acceptedSecrets, next);
    });
    const second = await exchange(api, PeerID, opened(await generated(api, 'east')).EstablishmentSecret);
    const third = await exchange(api, PeerID, opened(await generated(api, 'east')).EstablishmentSecret);
    const kept = api.state.snapshot.get(acceptedSecrets, PeerID)?.row;
    assert.deepEqual(
      [first, second, third].map((secret) => presentedStreamSecret(kept, secret)?.which),
      ['active', undefined, 'pending'],
    );
  });

  test('is refused in the same words whatever is wrong, and changes nothing', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock, peering: { tokenTtlMs: 60_000 } });
    const tokenOf = async (name: string): Promise<readonly [string, string]> => {
      const { PeerID, EstablishmentSecret } = opened(await generated(api, name));
      return [PeerID, EstablishmentSecret];
    };
    const expired = await tokenOf('expired');
    clock.advance(60_000);
    const revoked = await tokenOf('revoked');
    await api.request('DELETE', '/v1/peering/revoked/token');
    const deleted = await tokenOf('deleted');
    await api.request('DELETE', '/v1/peering/deleted');
    const spent = await tokenOf('spent');
    await exchange(api, ...spent);
    const terminated = await tokenOf('terminated');
    await api.state.write((tx) => {
      const row = tx.get(peerings, terminated[0])?.row;
      const next = row && terminatedByPeer(row);
      if (next !== undefined) tx.put(peerings, next);
    });
    const [id, secret] = await tokenOf('good');
    const { snapshot } = api.state;
    const wrong: readonly (readonly [string, string])[] = [
      expired,
      revoked,
      deleted,
      spent,
      terminated,
      [id, ''],
      [id, 'wrong'],
      [id, secret.toUpperCase()],
      [id, `${secret} `],
      [id, 'x'.repeat(1_000_000)],
      [id.toUpperCase(), secret],
      ['', secret],
      ['unknown', secret],
      ['unknown', ''],
      [deleted[0], secret],
    ];
    for (const [peerId, presented] of wrong) await assert.rejects(exchange(api, peerId, presented), isRefused);
    assert.equal(api.state.snapshot, snapshot);
    await exchange(api, id, secret);
  });

  test('is in the audit log, with where it came from', async () => {
    await using api = await startApi();
    const { PeerID, EstablishmentSecret } = opened(await generated(api, 'East'));
    await exchange(api, PeerID, EstablishmentSecret);
    const [entry] = (await api.request('GET', '/v1/audit?limit=1')).json<Record<string, unknown>[]>();
    const { Actor, Address, Action, Type, Subject, Partition, Before, After } = entry ?? {};
    assert.deepEqual(
      [Actor, Address, Action, Type, Subject, Partition],
      ['peer', '192.0.2.1', 'exchange-secret', 'peering', 'East', 'default'],
    );
    assert.deepEqual(Before, After);
  });
});
