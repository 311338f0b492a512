import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { mustGenerate, mustReadRecord, tokenContent } from '../../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import { ServiceError } from '../../../http/errors.ts';
import { isStateError } from '../../../state/errors.ts';
import { peerings, terminatedByPeer } from '../../record/record.ts';
import { acceptedSecrets, hashOf, matchStreamSecret } from '../../record/secrets.ts';
import { exchangeSecret } from './exchange-secret.ts';

const exchange = (api: Api, peerId: string, establishmentSecret: string): Promise<string> =>
  exchangeSecret(api.peering, { peerId, establishmentSecret, address: '192.0.2.1', disconnected: { aborted: false } });

const isRefused = (error: unknown): boolean =>
  error instanceof ServiceError &&
  error.code === 'permission-denied' &&
  error.message === 'invalid peering establishment secret';

describe('exchangeSecret', () => {
  test('returns a stream secret, stores its hash, and does not change the record [STREAM-19]', async () => {
    await using api = await startApi();
    const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(api, 'east'));
    const before = await mustReadRecord(api, 'east');
    const secret = await exchange(api, PeerID, EstablishmentSecret);
    const stored = api.state.snapshot.get(acceptedSecrets, PeerID)?.row;
    assert.deepEqual(stored, { peeringId: PeerID, pending: hashOf(secret) });
    assert.equal(matchStreamSecret(stored, secret)?.which, 'pending');
    assert.equal(matchStreamSecret(stored, EstablishmentSecret), undefined);
    assert.deepEqual(await mustReadRecord(api, 'east'), before);
  });

  test('succeeds for only one of several concurrent calls', async () => {
    await using api = await startApi();
    const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(api, 'east'));
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => exchange(api, PeerID, EstablishmentSecret)),
    );
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const result of results) if (result.status === 'rejected') assert.ok(isRefused(result.reason));
  });

  test('does not use up the secret when the caller has disconnected [STREAM-22]', async () => {
    await using api = await startApi();
    const { PeerID: peerId, EstablishmentSecret } = tokenContent(await mustGenerate(api, 'east'));
    const presented = { peerId, establishmentSecret: EstablishmentSecret, address: '192.0.2.1' };
    await assert.rejects(exchangeSecret(api.peering, { ...presented, disconnected: AbortSignal.abort() }), (error) =>
      isStateError(error, 'aborted'),
    );
    assert.notEqual(await exchange(api, peerId, EstablishmentSecret), '');
  });

  test('replaces an unused pending secret and keeps the active one', async () => {
    await using api = await startApi();
    const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(api, 'east'));
    const first = await exchange(api, PeerID, EstablishmentSecret);
    await api.state.write((tx) => {
      const next = matchStreamSecret(tx.get(acceptedSecrets, PeerID)?.row, first)?.next;
      if (next !== undefined) tx.put(acceptedSecrets, next);
    });
    const second = await exchange(api, PeerID, tokenContent(await mustGenerate(api, 'east')).EstablishmentSecret);
    const third = await exchange(api, PeerID, tokenContent(await mustGenerate(api, 'east')).EstablishmentSecret);
    const stored = api.state.snapshot.get(acceptedSecrets, PeerID)?.row;
    assert.deepEqual(
      [first, second, third].map((secret) => matchStreamSecret(stored, secret)?.which),
      ['active', undefined, 'pending'],
    );
  });

  test('rejects every invalid secret with the same text and changes nothing [STREAM-20]', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock, peering: { tokenTtlMs: 60_000 } });
    const tokenOf = async (name: string): Promise<readonly [string, string]> => {
      const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(api, name));
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

  test('writes an audit entry with the address of the caller', async () => {
    await using api = await startApi();
    const { PeerID, EstablishmentSecret } = tokenContent(await mustGenerate(api, 'East'));
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
