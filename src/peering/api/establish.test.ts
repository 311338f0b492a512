import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { gatedExchange, inProcessExchange } from '../../../test/support/peering/in-process-exchange.ts';
import {
  encodeContent,
  mustGenerate,
  mustPeer,
  mustReadRecord,
  requestEstablish,
  statusAndText,
  tokenContent,
} from '../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import { dumpState } from '../../../test/support/state/state.ts';
import { type Exchange, ExchangeUnreachable } from '../peering-context.ts';
import { peerings } from '../record/record.ts';
import { acceptedSecrets, hashOf, links, reservations, streamSecretContext } from '../record/secrets.ts';

/** Returns all rows about peerings. */
function written(api: Api): unknown {
  return Object.entries(dumpState(api.state.snapshot)).filter(([table]) => table.startsWith('peering'));
}

describe('POST /v1/peering/establish', () => {
  test('creates a dialing record with the addresses of the other side [PEER-61]', async () => {
    await using accepting = await startApi({ peering: { addresses: () => ['a.example:1', 'b.example:2'] } });
    await using dialing = await startApi();
    const token = await mustGenerate(accepting, 'dialer');
    const answer = await requestEstablish(dialing, 'East', token, { Meta: { env: 'prod' } });
    assert.deepEqual([answer.status, answer.text, answer.headers['content-type']], [200, '{}', 'application/json']);
    const index = dialing.state.snapshot.index;
    const read = await dialing.request('GET', '/v1/peering/east');
    const { ID } = read.json<{ ID: string }>();
    const shown = {
      ID,
      Name: 'East',
      State: 'INITIAL',
      PeerID: tokenContent(token).PeerID,
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

  test('stores the link, and the other side stores a hash of the secret', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    await mustPeer(accepting, 'west', dialing, 'east');
    const { ID, PeerID = '' } = await mustReadRecord(dialing, 'east');
    const link = dialing.state.snapshot.get(links, ID)?.row;
    assert.ok(link !== undefined);
    assert.deepEqual(link.roots, accepting.peering.identity.roots(accepting.state.snapshot));
    assert.equal(link.trustDomain, accepting.peering.identity.trustDomain);
    const secret = dialing.peering.secrets.decrypt(link.secret, streamSecretContext(ID));
    const stored = accepting.state.snapshot.get(acceptedSecrets, PeerID)?.row;
    assert.deepEqual(stored, { peeringId: PeerID, pending: hashOf(secret) });
    assert.equal(dialing.state.snapshot.count(reservations), 0);
  });

  test('stores only the manual addresses, if any [PEER-19]', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    const token = await mustGenerate(accepting, 'west', { ServerExternalAddresses: ['lb:443'] });
    await requestEstablish(dialing, 'east', token);
    const { ID, PeerServerAddresses } = await mustReadRecord(dialing, 'east');
    assert.deepEqual(PeerServerAddresses, ['lb:443']);
    assert.equal(dialing.state.snapshot.get(peerings, ID)?.row.peer?.manual, true);
  });

  test('uses the partition of the request', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    await dialing.makePartitions('Eu');
    const answer = await requestEstablish(dialing, 'east', await mustGenerate(accepting, 'west'), { Partition: 'eu' });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await dialing.request('GET', '/v1/peering/east')).status, 404);
    const [listed] = (await dialing.request('GET', '/v1/peerings?partition=eu')).json<{ Partition: string }[]>();
    assert.equal(listed?.Partition, 'Eu');
  });
});

describe('a peering token', () => {
  const spent = [403, 'a new peering token must be generated: invalid peering establishment secret'];

  test('works once', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    const token = await mustGenerate(accepting, 'west');
    assert.equal((await requestEstablish(dialing, 'east', token)).status, 200);
    const before = written(dialing);
    assert.deepEqual(statusAndText(await requestEstablish(dialing, 'east', token)), spent);
    assert.deepEqual(statusAndText(await requestEstablish(dialing, 'other', token)), spent);
    assert.deepEqual(written(dialing), before);
  });

  test('is accepted once when it is presented twice in parallel', async () => {
    await using accepting = await startApi();
    await using dialing = await startApi();
    await using third = await startApi();
    for (let round = 0; round < 5; round++) {
      const token = await mustGenerate(accepting, `west${round}`);
      const answers = await Promise.all([
        requestEstablish(dialing, `east${round}`, token),
        requestEstablish(third, `east${round}`, token),
        requestEstablish(dialing, `more${round}`, token),
      ]);
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 403, 403]);
    }
  });

  test('returns the same 403 when it is revoked or expired, or its peering is deleted or unknown', async () => {
    const clock = createFakeClock(Date.now());
    await using accepting = await startApi({ clock, peering: { tokenTtlMs: 60_000 } });
    await using dialing = await startApi();
    const revoked = await mustGenerate(accepting, 'revoked');
    await accepting.request('DELETE', '/v1/peering/revoked/token');
    const deleted = await mustGenerate(accepting, 'deleted');
    await accepting.request('DELETE', '/v1/peering/deleted');
    const expired = await mustGenerate(accepting, 'expired');
    const unknown = encodeContent({ ...tokenContent(expired), PeerID: '00000000-0000-4000-8000-000000000000' });
    const wrong = encodeContent({
      ...tokenContent(expired),
      EstablishmentSecret: '00000000-0000-4000-8000-000000000000',
    });
    clock.advance(60_000);
    for (const token of [revoked, deleted, expired, unknown, wrong]) {
      assert.deepEqual(statusAndText(await requestEstablish(dialing, 'east', token)), spent);
    }
    assert.equal(dialing.state.snapshot.count(peerings), 0);
  });

  test('is used up when the response of the exchange is lost [PEER-59]', async () => {
    await using accepting = await startApi();
    let isResponseLost = true;
    const exchange: Exchange = async (...given) => {
      const secret = await inProcessExchange(...given);
      if (isResponseLost) throw new ExchangeUnreachable('a:1: connection closed');
      return secret;
    };
    await using dialing = await startApi({ peering: { exchange } });
    const token = await mustGenerate(accepting, 'west');
    assert.deepEqual(statusAndText(await requestEstablish(dialing, 'east', token)), [503, 'a:1: connection closed']);
    isResponseLost = false;
    assert.deepEqual(statusAndText(await requestEstablish(dialing, 'east', token)), spent);
    assert.equal((await requestEstablish(dialing, 'east', await mustGenerate(accepting, 'west'))).status, 200);
  });
});

describe('a failed establish', () => {
  for (const [what, exchange, status, text] of [
    ['no address can be reached', undefined, 503, '127.0.0.1:8503: connection refused'],
    [
      'the other cluster returns no secret',
      () => Promise.resolve(''),
      503,
      'the other cluster accepted the token but returned no valid stream secret',
    ],
    [
      'the other cluster returns a secret that is too long',
      () => Promise.resolve('x'.repeat(129)),
      503,
      'the other cluster accepted the token but returned no valid stream secret',
    ],
    ['the exchange throws', () => Promise.reject(new Error('broken')), 500, undefined],
  ] as const) {
    test(`leaves no record when ${what}`, async () => {
      let token: string;
      {
        await using gone = await startApi();
        token = await mustGenerate(gone, 'west');
      }
      await using dialing = await startApi(exchange === undefined ? {} : { peering: { exchange } });
      const before = written(dialing);
      const answer = await requestEstablish(dialing, 'east', token);
      assert.equal(answer.status, status);
      if (text !== undefined) assert.equal(answer.text, text);
      assert.deepEqual(written(dialing), before);
      assert.equal((await dialing.request('GET', '/v1/peering/east')).status, 404);
      await mustGenerate(dialing, 'east');
    });
  }

  test('leaves no record when the caller lost the grant during the exchange [PEER-60]', async () => {
    await using accepting = await startApi();
    const held = gatedExchange();
    await using dialing = await startApi({ peering: { exchange: held.exchange } });
    const { AccessorID, SecretID } = await dialing.makeToken(['peering:write']);
    const before = written(dialing);
    const answer = requestEstablish(dialing, 'east', await mustGenerate(accepting, 'west'), {}, { token: SecretID });
    await held.requested;
    await dialing.request('DELETE', `/v1/acl/token/${AccessorID}`);
    held.open();
    assert.deepEqual(statusAndText(await answer), [403, 'ACL not found']);
    assert.deepEqual(written(dialing), before);
  });
});

describe('validation of POST /v1/peering/establish', () => {
  const shared = sharedApi();

  test('rejects a token of this cluster without using it [PEER-52]', async () => {
    const api = shared();
    await using other = await startApi();
    const token = await mustGenerate(api, 'mine');
    const { serverName } = api.peering.identity;
    const text = `cannot create a peering within the same cluster "${serverName}": the token was generated here, present it to another cluster`;
    assert.deepEqual(statusAndText(await requestEstablish(api, 'other', token)), [400, text]);
    assert.equal((await requestEstablish(other, 'x', token)).status, 200);
  });

  const refused: readonly (readonly [what: string, body: unknown, text: string | RegExp])[] = [
    ['an empty body', {}, 'PeerName is required in the payload when establishing a peering.'], // [PEER-51]
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
    test(`rejects ${what}`, async () => {
      const answer = await shared().request('POST', '/v1/peering/establish', { body });
      assert.equal(answer.status, 400, answer.text);
      if (typeof text === 'string') assert.equal(answer.text, text);
      else assert.match(answer.text, text);
    });
  }

  test('rejects invalid Meta before the exchange', async () => {
    await using accepting = await startApi();
    const token = await mustGenerate(accepting, 'west');
    const answer = await requestEstablish(shared(), 'fresh', token, { Meta: { 'a b': '' } });
    assert.equal(answer.status, 400);
    assert.match(answer.text, /^meta tags failed validation: key "a b": want /);
    assert.equal((await requestEstablish(shared(), 'fresh', token)).status, 200);
  });
});
