import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { heldExchange } from '../../../test/support/peering/held-exchange.ts';
import { inProcessExchange } from '../../../test/support/peering/in-process-exchange.ts';
import { closed, generated, opened, peer, present, record, seen } from '../../../test/support/peering/peering.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import { picture } from '../../../test/support/state/state.ts';
import { type Exchange, ExchangeUnreachable } from '../peering-context.ts';
import { peerings } from '../record/record.ts';
import { acceptedSecrets, hashOf, links, reservations, streamSecretPlace } from '../record/secrets.ts';

/** Everything about peerings that an API has written. */
function written(api: Api): unknown {
  return Object.entries(picture(api.state.snapshot)).filter(([table]) => table.startsWith('peering'));
}

describe('establishing a peering', () => {
  test('makes a record of the dialing side that shows where it dials', async () => {
    await using accepting = await startApi({ peering: { addresses: () => ['a.example:1', 'b.example:2'] } });
    await using dialing = await startApi();
    const token = await generated(accepting, 'dialer');
    const answer = await present(dialing, 'East', token, { Meta: { env: 'prod' } });
    assert.deepEqual([answer.status, answer.text, answer.headers['content-type']], [200, '{}', 'application/json']);
    const index = dialing.state.snapshot.index;
    const read = await dialing.request('GET', '/v1/peering/east');
    const { ID } = read.json<{ ID: string }>();
    const shown = {
      ID,
      Name: 'East',
      State: 'INITIAL',
      PeerID: opened(token).PeerID,
      PeerServerName: accepting.peering.identity.serverName,
      PeerServerAddresses: ['a.example:1', 'b.example:2'],
      StreamStatus: { ImportedServices: null, ExportedServices: [] },
      Meta: { env: 'prod' },
      CreateIndex: index,
      ModifyIndex: index,
      Remote: { Partition: 'default', Datacenter: 'dc1' },
    };
    assert.equal(read.text, JSON.stringify(shown));
    assert.notEqual(ID, shown.PeerID);
  });

  test('keeps what it needs to dial, and the other side a hash of the secret', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    await peer(accepting, 'west', dialing, 'east');
    const { ID, PeerID = '' } = await record(dialing, 'east');
    const link = dialing.state.snapshot.get(links, ID)?.row;
    assert.ok(link !== undefined);
    assert.deepEqual(link.roots, accepting.peering.identity.roots(accepting.state.snapshot));
    assert.equal(link.trustDomain, accepting.peering.identity.trustDomain);
    const secret = dialing.peering.secrets.open(link.secret, streamSecretPlace(ID));
    const kept = accepting.state.snapshot.get(acceptedSecrets, PeerID)?.row;
    assert.deepEqual(kept, { peeringId: PeerID, pending: hashOf(secret) });
    assert.equal(dialing.state.snapshot.count(reservations), 0);
  });

  test('shows the addresses that were given by hand, alone', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    const token = await generated(accepting, 'west', { ServerExternalAddresses: ['lb:443'] });
    await present(dialing, 'east', token);
    const { ID, PeerServerAddresses } = await record(dialing, 'east');
    assert.deepEqual(PeerServerAddresses, ['lb:443']);
    assert.equal(dialing.state.snapshot.get(peerings, ID)?.row.peer?.manual, true);
  });

  test('puts it where the request says', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    await dialing.makePartitions('Eu');
    const answer = await present(dialing, 'east', await generated(accepting, 'west'), { Partition: 'eu' });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await dialing.request('GET', '/v1/peering/east')).status, 404);
    const [listed] = (await dialing.request('GET', '/v1/peerings?partition=eu')).json<{ Partition: string }[]>();
    assert.equal(listed?.Partition, 'Eu');
  });
});

describe('a token', () => {
  const spent = [403, 'a new peering token must be generated: invalid peering establishment secret'];

  test('is good once', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    const token = await generated(accepting, 'west');
    assert.equal((await present(dialing, 'east', token)).status, 200);
    const before = written(dialing);
    assert.deepEqual(seen(await present(dialing, 'east', token)), spent);
    assert.deepEqual(seen(await present(dialing, 'other', token)), spent);
    assert.deepEqual(written(dialing), before);
  });

  test('that is presented twice at once is taken once', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    await using third = await startApi();
    for (let round = 0; round < 5; round++) {
      const token = await generated(accepting, `west${round}`);
      const answers = await Promise.all([
        present(dialing, `east${round}`, token),
        present(third, `east${round}`, token),
        present(dialing, `more${round}`, token),
      ]);
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 403, 403]);
    }
  });

  test('of a revoked, expired, deleted or unknown peering is refused alike', async () => {
    const clock = createFakeClock(Date.now());
    await using accepting = await startApi({ clock, peering: { tokenTtlMs: 60_000 } });
    await using dialing = await startApi();
    const revoked = await generated(accepting, 'revoked');
    await accepting.request('DELETE', '/v1/peering/revoked/token');
    const deleted = await generated(accepting, 'deleted');
    await accepting.request('DELETE', '/v1/peering/deleted');
    const expired = await generated(accepting, 'expired');
    const unknown = closed({ ...opened(expired), PeerID: '00000000-0000-4000-8000-000000000000' });
    const wrong = closed({ ...opened(expired), EstablishmentSecret: '00000000-0000-4000-8000-000000000000' });
    clock.advance(60_000);
    for (const token of [revoked, deleted, expired, unknown, wrong]) {
      assert.deepEqual(seen(await present(dialing, 'east', token)), spent);
    }
    assert.equal(dialing.state.snapshot.count(peerings), 0);
  });

  test('whose exchange was answered to nobody is spent, and a new one works', async () => {
    await using accepting = await startApi();
    let lose = true;
    const exchange: Exchange = async (...given) => {
      const secret = await inProcessExchange(...given);
      if (lose) throw new ExchangeUnreachable('a:1: the connection was cut');
      return secret;
    };
    await using dialing = await startApi({ peering: { exchange } });
    const token = await generated(accepting, 'west');
    assert.deepEqual(seen(await present(dialing, 'east', token)), [503, 'a:1: the connection was cut']);
    lose = false;
    assert.deepEqual(seen(await present(dialing, 'east', token)), spent);
    assert.equal((await present(dialing, 'east', await generated(accepting, 'west'))).status, 200);
  });
});

describe('an establish that fails', () => {
  for (const [what, exchange, status, text] of [
    ['nobody can be reached', undefined, 503, '127.0.0.1:8503: nobody is there'],
    [
      'the other cluster gives no secret',
      () => Promise.resolve(''),
      503,
      'the other cluster has taken the token and given no stream secret for it',
    ],
    [
      'the other cluster gives what is none',
      () => Promise.resolve('x'.repeat(129)),
      503,
      'the other cluster has taken the token and given no stream secret for it',
    ],
    ['the exchange breaks', () => Promise.reject(new Error('broken')), 500, undefined],
  ] as const) {
    test(`because ${what} leaves nothing behind`, async () => {
      let token: string;
      {
        await using gone = await startApi();
        token = await generated(gone, 'west');
      }
      await using dialing = await startApi(exchange === undefined ? {} : { peering: { exchange } });
      const before = written(dialing);
      const answer = await present(dialing, 'east', token);
      assert.equal(answer.status, status);
      if (text !== undefined) assert.equal(answer.text, text);
      assert.deepEqual(written(dialing), before);
      assert.equal((await dialing.request('GET', '/v1/peering/east')).status, 404);
      await generated(dialing, 'east');
    });
  }

  test('because its caller lost the grant meanwhile writes nothing', async () => {
    await using accepting = await startApi();
    const held = heldExchange();
    await using dialing = await startApi({ peering: { exchange: held.exchange } });
    const { AccessorID, SecretID } = await dialing.makeToken(['peering:write']);
    const before = written(dialing);
    const answer = present(dialing, 'east', await generated(accepting, 'west'), {}, { token: SecretID });
    await held.asked;
    await dialing.request('DELETE', `/v1/acl/token/${AccessorID}`);
    held.open();
    assert.deepEqual(seen(await answer), [403, 'ACL not found']);
    assert.deepEqual(written(dialing), before);
  });
});

describe('what a request to establish must be', () => {
  const shared = sharedApi();

  test('a token of this cluster is refused, and not spent', async () => {
    const api = shared();
    await using other = await startApi();
    const token = await generated(api, 'mine');
    const { serverName } = api.peering.identity;
    const text = `cannot create a peering within the same cluster "${serverName}": the token was generated here, present it to another cluster`;
    assert.deepEqual(seen(await present(api, 'other', token)), [400, text]);
    assert.equal((await present(other, 'x', token)).status, 200);
  });

  const refused: readonly (readonly [what: string, body: unknown, text: string | RegExp])[] = [
    ['an empty body', {}, 'PeerName is required in the payload when establishing a peering.'],
    ['no token', { PeerName: 'a' }, 'PeeringToken is required in the payload when establishing a peering.'],
    ['an empty token', { PeerName: 'a', PeeringToken: '' }, /^PeeringToken is required in the payload when /],
    ['a name that is none', { PeerName: 'a.b', PeeringToken: 'x' }, /^a\.b is not a valid peer name: /],
    ['a token that is none', { PeerName: 'a', PeeringToken: 'x' }, 'failed to decode token'],
    [
      'addresses of its own',
      { PeerName: 'a', ServerExternalAddresses: [] },
      'Body decoding failed: json: unknown field "ServerExternalAddresses"',
    ],
  ];
  for (const [what, body, text] of refused) {
    test(`${what} is refused`, async () => {
      const answer = await shared().request('POST', '/v1/peering/establish', { body });
      assert.equal(answer.status, 400, answer.text);
      if (typeof text === 'string') assert.equal(answer.text, text);
      else assert.match(answer.text, text);
    });
  }

  test('Meta that cannot be is refused before the token is spent', async () => {
    await using accepting = await startApi();
    const token = await generated(accepting, 'west');
    const answer = await present(shared(), 'fresh', token, { Meta: { 'a b': '' } });
    assert.equal(answer.status, 400);
    assert.match(answer.text, /^meta tags failed validation: key "a b": want /);
    assert.equal((await present(shared(), 'fresh', token)).status, 200);
  });
});
