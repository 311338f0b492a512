import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import {
  mustGenerate,
  mustPeer,
  mustReadRecord,
  requestEstablish,
  requestToken,
  statusAndText,
  tokenContent,
} from '../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import { peerings, terminatedByPeer } from '../record/record.ts';
import { acceptedSecrets } from '../record/secrets.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const rowOf = (api: Api, id: string) => api.state.snapshot.get(peerings, id)?.row;

describe('a generated peering token', () => {
  test('contains all fields in the documented order [PEER-40]', async () => {
    await using api = await startApi();
    const answer = await requestToken(api, 'East');
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.deepEqual(Object.keys(answer.json<object>()), ['PeeringToken']);
    const { PeeringToken } = answer.json<{ PeeringToken: string }>();
    const { identity } = api.peering;
    const token = tokenContent(PeeringToken);
    assert.match(token.EstablishmentSecret, UUID);
    const expected = {
      CA: identity.roots(api.state.snapshot),
      ManualServerAddresses: null,
      ServerAddresses: ['127.0.0.1:8503'],
      ServerName: identity.serverName,
      PeerID: (await mustReadRecord(api, 'east')).ID,
      EstablishmentSecret: token.EstablishmentSecret,
      Remote: { Partition: 'default', Datacenter: 'dc1', Locality: null },
    };
    assert.equal(Buffer.from(PeeringToken, 'base64').toString(), JSON.stringify(expected));
    assert.ok(token.CA.every((pem) => pem.endsWith('-----END CERTIFICATE-----\n')));
  });

  test('contains manual addresses, server addresses and the partition [PEER-40]', async () => {
    await using api = await startApi({ peering: { addresses: () => ['a:1', 'b:2'] } });
    await api.makePartitions('Eu');
    const token = tokenContent(
      await mustGenerate(api, 'east', { Partition: 'eu', ServerExternalAddresses: ['lb.example.com:443', '[::1]:1'] }),
    );
    assert.deepEqual(token.ManualServerAddresses, ['lb.example.com:443', '[::1]:1']);
    assert.deepEqual(token.ServerAddresses, ['a:1', 'b:2']);
    assert.equal(token.Remote.Partition, 'Eu');
    assert.equal(
      tokenContent(await mustGenerate(api, 'west', { ServerExternalAddresses: [] })).ManualServerAddresses,
      null,
    );
  });

  test('contains no partition in the community edition [PEER-42]', async () => {
    await using api = await startApi({ edition: 'community' });
    assert.equal(tokenContent(await mustGenerate(api, 'east', { Partition: 'default' })).Remote.Partition, '');
  });

  test('is stored as a hash with accessor ID and expiry [PEER-44] [PEER-45]', async () => {
    const clock = createFakeClock(Date.UTC(2030, 0, 1));
    await using api = await startApi({ clock, peering: { tokenTtlMs: 60_000 } });
    const { AccessorID, SecretID } = await api.makeToken(['peering:write']);
    const answer = await requestToken(api, 'east', {}, { token: SecretID });
    const { PeerID, EstablishmentSecret } = tokenContent(answer.json<{ PeeringToken: string }>().PeeringToken);
    const stored = api.state.snapshot.get(acceptedSecrets, PeerID)?.row;
    assert.equal(stored?.establishment?.accessorId, AccessorID);
    assert.equal(stored.establishment.createTime, '2030-01-01T00:00:00.000Z');
    assert.equal(stored.establishment.expirationTime, '2030-01-01T00:01:00.000Z');
    assert.ok(!JSON.stringify(stored).includes(EstablishmentSecret));
  });
});

describe('POST /v1/peering/token', () => {
  test('creates an accepting record [PEER-32] [V1-42]', async () => {
    await using api = await startApi();
    await mustGenerate(api, 'East', { Meta: { env: 'prod' } });
    const index = api.state.snapshot.index;
    const answer = await api.request('GET', '/v1/peering/EAST');
    const { ID } = answer.json<{ ID: string }>();
    assert.match(ID, UUID);
    const shown = {
      ID,
      Name: 'East',
      State: 'INITIAL',
      StreamStatus: { ImportedServices: null, ExportedServices: [] },
      Meta: { env: 'prod' },
      CreateIndex: index,
      ModifyIndex: index,
      Remote: { Partition: '', Datacenter: '' },
    };
    assert.equal(answer.text, JSON.stringify(shown));
  });

  test('keeps an existing record, replaces Meta if given, and invalidates the previous token [PEER-34]', async () => {
    await using api = await startApi();
    await using other = await startApi();
    const first = await mustGenerate(api, 'east', { Meta: { a: '1' } });
    const before = await mustReadRecord(api, 'east');
    const second = await mustGenerate(api, 'EAST');
    assert.deepEqual(await mustReadRecord(api, 'east'), before);
    assert.notEqual(tokenContent(first).EstablishmentSecret, tokenContent(second).EstablishmentSecret);
    assert.equal((await requestEstablish(other, 'west', first)).status, 403);
    await mustGenerate(api, 'east', { Meta: { b: '2' } });
    const { Meta, ID, ModifyIndex, CreateIndex } = await mustReadRecord(api, 'east');
    assert.deepEqual([Meta, ID, CreateIndex], [{ b: '2' }, before.ID, before.CreateIndex]);
    assert.ok(ModifyIndex > before.ModifyIndex);
    await mustGenerate(api, 'east', { Meta: {} });
    assert.equal((await mustReadRecord(api, 'east')).Meta, undefined);
    await mustGenerate(api, 'east', { Meta: null });
    assert.equal((await mustReadRecord(api, 'east')).Name, 'east');
  });

  test('keeps the stream secrets of an existing record [PEER-34]', async () => {
    await using api = await startApi();
    await using other = await startApi();
    await mustPeer(api, 'east', other, 'west');
    const { ID } = await mustReadRecord(api, 'east');
    const pending = api.state.snapshot.get(acceptedSecrets, ID)?.row.pending;
    assert.notEqual(pending, undefined);
    await mustGenerate(api, 'east');
    assert.equal(api.state.snapshot.get(acceptedSecrets, ID)?.row.pending, pending);
  });

  test('replaces a record that the other side terminated with one of a new ID [PEER-35]', async () => {
    await using api = await startApi();
    const first = tokenContent(await mustGenerate(api, 'east', { Meta: { a: '1' } })).PeerID;
    await api.state.write((tx) => {
      const row = tx.get(peerings, first)?.row;
      const next = row && terminatedByPeer(row);
      if (next !== undefined) tx.put(peerings, next);
    });
    assert.equal((await mustReadRecord(api, 'east')).State, 'TERMINATED');
    const second = tokenContent(await mustGenerate(api, 'East')).PeerID;
    assert.notEqual(second, first);
    const { ID, Name, State, Meta, CreateIndex, ModifyIndex } = await mustReadRecord(api, 'east');
    assert.deepEqual([ID, Name, State, Meta], [second, 'East', 'INITIAL', undefined]);
    assert.equal(CreateIndex, ModifyIndex);
    assert.equal(rowOf(api, first), undefined);
    assert.equal(api.state.snapshot.get(acceptedSecrets, first), undefined);
  });

  test('creates one record for parallel requests, whose last token is the valid one', async () => {
    await using api = await startApi();
    await using other = await startApi();
    const tokens = await Promise.all(Array.from({ length: 16 }, (_, i) => mustGenerate(api, i % 2 ? 'east' : 'EAST')));
    assert.equal(new Set(tokens.map((token) => tokenContent(token).PeerID)).size, 1);
    const statuses: number[] = [];
    for (const [i, token] of tokens.entries()) statuses.push((await requestEstablish(other, `p${i}`, token)).status);
    assert.deepEqual(
      [statuses.filter((status) => status === 200).length, statuses.filter((status) => status === 403).length],
      [1, 15],
    );
  });

  test('accepts names that are API paths [PEER-6]', async () => {
    await using api = await startApi();
    for (const name of ['token', 'establish']) {
      await mustGenerate(api, name);
      assert.equal((await mustReadRecord(api, name)).Name, name);
      assert.equal((await api.request('DELETE', `/v1/peering/${name}`)).status, 200);
    }
  });

  test('creates separate records for a name in different partitions [PEER-5]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    const ids = [await mustGenerate(api, 'east'), await mustGenerate(api, 'east', { Partition: 'eu' })].map(
      (token) => tokenContent(token).PeerID,
    );
    assert.notEqual(ids[0], ids[1]);
    assert.equal((await mustReadRecord(api, 'east', '?partition=eu')).ID, ids[1]);
  });
});

describe('a name with the dialing role [PEER-2] [PEER-36]', () => {
  test('returns 409', async () => {
    await using api = await startApi();
    await using other = await startApi();
    await mustPeer(other, 'x', api, 'East');
    assert.deepEqual(statusAndText(await requestToken(api, 'east')), [
      409,
      'cannot create peering with name: "east"; there is already an established peering',
    ]);
  });
});

describe('limits.peerings', () => {
  test('returns 429 for one more record, and permits a new token of an existing one [PEER-39]', async () => {
    await using api = await startApi({ peering: { peeringsMax: 2 } });
    await using other = await startApi();
    await mustGenerate(api, 'a');
    await mustGenerate(api, 'b');
    const full = [429, 'there are 2 peerings already (limits.peerings)'];
    assert.deepEqual(statusAndText(await requestToken(api, 'c')), full);
    assert.deepEqual(statusAndText(await requestEstablish(api, 'c', await mustGenerate(other, 'x'))), full);
    await mustGenerate(api, 'A');
  });
});

describe('validation of POST /v1/peering/token', () => {
  const shared = sharedApi();
  const long = 'x'.repeat(513);
  const invalid = (name: string): string =>
    `${name} is not a valid peer name: a valid peering name must consist of alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long`;
  const required = 'PeerName is required in the payload when generating a new peering token.';
  const meta = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
  const refused: readonly (readonly [what: string, body: unknown, text: string | RegExp])[] = [
    ['no body', undefined, required], // [PEER-33]
    ['an empty body', {}, required],
    ['an empty name', { PeerName: '' }, required],
    ['a name that is null', { PeerName: null }, required],
    ['a body that is not JSON', '{', /^Body decoding failed: json: /],
    ['a name that is a number', { PeerName: 1 }, 'Body decoding failed: PeerName: want a string, got a number'], // [V1-23]
    [
      'an unknown field',
      { Peer: 'east' },
      'Body decoding failed: json: unknown field "Peer", did you mean "PeerName"?',
    ],
    ['a name with an underscore', { PeerName: 'a_b' }, invalid('a_b')], // [PEER-3]
    ['a name that ends with a dash', { PeerName: 'a-' }, invalid('a-')],
    ['a name of 64 characters', { PeerName: 'a'.repeat(64) }, invalid('a'.repeat(64))],
    ['a partition that is none', { PeerName: 'a', Partition: '*' }, /^\* is not a valid partition name: /],
    ['a partition that is not there', { PeerName: 'a', Partition: 'nowhere' }, 'partition "nowhere" does not exist'],
    [
      'too many pairs of Meta',
      { PeerName: 'a', Meta: meta(65) },
      'meta tags failed validation: 65 pairs: want at most 64', // [PEER-7]
    ],
    [
      'a key of Meta with a space',
      { PeerName: 'a', Meta: { 'a b': '' } },
      `meta tags failed validation: key "a b": want 1 to 128 letters, digits, '-' or '_'`,
    ],
    ['an empty key of Meta', { PeerName: 'a', Meta: { '': '' } }, /^meta tags failed validation: key "": want /],
    [
      'a long value of Meta',
      { PeerName: 'a', Meta: { k: long } },
      'meta tags failed validation: the value of "k" has 513 bytes, want at most 512', // [PEER-8]
    ],
    [
      'a value of Meta that is not a string',
      { PeerName: 'a', Meta: { k: 1 } },
      'Body decoding failed: Meta.k: want a string, got a number',
    ],
    [
      'an address without a port',
      { PeerName: 'a', ServerExternalAddresses: ['a:1', 'b'] },
      'b is not a valid peering server address',
    ],
    [
      'too many addresses',
      { PeerName: 'a', ServerExternalAddresses: new Array(65).fill('a:1') },
      '65 peering server addresses: want at most 64', // [PEER-10]
    ],
  ];
  for (const [what, body, text] of refused) {
    test(`rejects ${what} and changes nothing`, async () => {
      const api = shared();
      const { snapshot } = api.state;
      const answer = await api.request('POST', '/v1/peering/token', { body });
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
      if (typeof text === 'string') assert.equal(answer.text, text);
      else assert.match(answer.text, text);
      assert.equal(api.state.snapshot, snapshot);
    });
  }

  test('ignores the case of keys, and accepts Meta at its limits [PEER-7]', async () => {
    const api = shared();
    const body = {
      peername: 'a'.repeat(63),
      META: { ...meta(63), ['k'.repeat(128)]: 'é'.repeat(256) },
      serverexternaladdresses: new Array(64).fill('a:1'),
    };
    const answer = await api.request('POST', '/v1/peering/token', { body });
    assert.equal(answer.status, 200, answer.text);
  });
});
