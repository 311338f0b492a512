import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { encodeContent, mustGenerate, tokenContent } from '../../../test/support/peering/peering-requests.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import { ServiceError } from '../../http/errors.ts';
import { decodeToken } from './decode-token.ts';
import { clusterOf, encodeToken, type PeeringToken, tokenAddresses, trustDomainOf } from './token.ts';

const PEER_ID = '11111111-2222-4333-8444-555555555555';
const SECRET = '99999999-8888-4777-8666-555555555555';

describe('decodeToken', () => {
  const shared = sharedApi();
  const now = Date.now();
  const good = async (): Promise<PeeringToken> => ({
    CA: tokenContent(await mustGenerate(shared(), 'east')).CA,
    ManualServerAddresses: null,
    ServerAddresses: ['127.0.0.1:8503', 'peer.example.com:1'],
    ServerName: 'server.dc1.peering.11111111-0000-4000-8000-000000000000.accord',
    PeerID: PEER_ID,
    EstablishmentSecret: SECRET,
    Remote: { Partition: 'default', Datacenter: 'dc1', Locality: null },
  });

  test('returns the encoded token, and ignores whitespace', async () => {
    const token = await good();
    const text = encodeToken(token);
    assert.deepEqual(decodeToken(text, now), token);
    assert.deepEqual(decodeToken(`\n ${text.replaceAll(/.{64}/g, '$&\r\n')}\n`, now), token);
  });

  test('ignores unknown keys, treats null as absent, and ends every root with a newline [PEER-48]', async () => {
    const token = await good();
    const { Remote: _, ...rest } = token;
    const other = { ...rest, CA: token.CA.map((pem) => pem.trim()), Unknown: { deep: [1] }, Remote: null };
    const read = decodeToken(encodeContent(other), now);
    assert.deepEqual(read, { ...token, Remote: { Partition: '', Datacenter: '', Locality: null } });
    const manual = decodeToken(
      encodeContent({ ...token, ServerAddresses: null, ManualServerAddresses: ['lb:1'] }),
      now,
    );
    assert.deepEqual(tokenAddresses(manual), ['lb:1']);
  });

  test('returns distinct addresses in the order in which to try them', async () => {
    const token = { ...(await good()), ManualServerAddresses: ['b:1', 'a:1'], ServerAddresses: ['c:1', 'a:1'] };
    assert.deepEqual(tokenAddresses(token), ['b:1', 'a:1', 'c:1']);
  });

  const edits: readonly (readonly [what: string, edit: Readonly<Record<string, unknown>>, text: string | RegExp])[] = [
    ['no CA', { CA: [] }, 'peering token CA value is empty'],
    ['a CA that is null', { CA: null }, 'peering token CA value is empty'],
    ['an empty certificate', { CA: [''] }, /^peering token invalid CA: /],
    ['a certificate that is none', { CA: ['x'] }, /^peering token invalid CA: /],
    ['a CA that is not an array', { CA: 'x' }, 'failed to decode token: CA: want an array, got a string'],
    ['no addresses', { ServerAddresses: [] }, 'peering token server addresses value is empty'],
    ['an address without a port', { ServerAddresses: ['a'] }, 'a is not a valid peering server address'],
    ['an address that is not a string', { ServerAddresses: [1] }, /^failed to decode token: ServerAddresses\[0\]: /],
    ['a bad address by hand', { ManualServerAddresses: ['a:0'] }, 'a:0 is not a valid peering server address'],
    ['no server name', { ServerName: '' }, 'peering token server name value is empty'],
    [
      'a server name that is an address',
      { ServerName: '127.0.0.1' },
      'peering token server name value is not a DNS name',
    ],
    ['no peer ID', { PeerID: '' }, 'peering token peer ID value is empty'],
    ['a peer ID that is none', { PeerID: 'east' }, 'peering token peer ID value is not a UUID'],
    ['no secret', { EstablishmentSecret: '' }, 'peering token establishment secret value is empty'],
    ['a secret that is none', { EstablishmentSecret: 'x' }, 'peering token establishment secret value is not a UUID'],
    [
      'a partition that is not a valid name',
      { Remote: { Partition: 'x'.repeat(254) } },
      "peering token remote value is not a valid name: want at most 253 letters, digits, '.', '-' or '_'",
    ],
    [
      'a datacenter that its server name does not name',
      { Remote: { Datacenter: 'dc2' } },
      /^peering token remote datacenter "dc2" is not that of the server name "server\.dc1\.peering\./,
    ],
    ['a field twice', { ca: [] }, 'failed to decode token: json: duplicate field "CA"'],
  ];
  for (const [what, edit, text] of edits) {
    test(`rejects a token with ${what}`, async () => {
      const error = refusalOf(encodeContent({ ...(await good()), ...edit }), now);
      assert.equal(error.code, 'bad-request');
      if (typeof text === 'string') assert.equal(error.message, text);
      else assert.match(error.message, text);
    });
  }

  for (const [what, text] of [
    ['nothing but white space', ' \n'],
    ['what is not base64', 'not base64!'],
    ['base64 of the URL alphabet', '-_-_'],
    ['a length that cannot be', 'abcde'],
    ['bytes that are no text', '////'],
    ['a text that is not JSON', Buffer.from('hello').toString('base64')],
  ] as const) {
    test(`rejects ${what}`, () => assert.equal(refusalOf(text, now).message, 'failed to decode token'));
  }

  test('rejects JSON that is not an object', () => {
    assert.equal(refusalOf(encodeContent([]), now).message, 'failed to decode token: want an object, got an array');
    assert.equal(refusalOf(encodeContent(null), now).message, 'failed to decode token: want an object, got null');
  });

  test('rejects a token that is too long without decoding it [PEER-48]', () => {
    const text = 'failed to decode token: it has 262145 characters, want at most 262144';
    assert.equal(refusalOf('!'.repeat(262_145), now).message, text);
  });

  test('rejects a CA root that has expired or is not valid yet [PEER-50]', async () => {
    const text = encodeToken(await good());
    const century = 100 * 365 * 86_400_000;
    assert.match(refusalOf(text, now + century).message, /^peering token invalid CA: the certificate expired at /);
    assert.match(
      refusalOf(text, now - century).message,
      /^peering token invalid CA: the certificate is not valid before /,
    );
  });

  const TEXTS =
    /^(failed to decode token|peering token (CA|server addresses|server name|peer ID|establishment secret) value is |peering token invalid CA: |peering token remote (value is not a valid name: |datacenter ".*" is not that of the server name)|.*is not a valid peering server address$|\d+ peering server addresses: want at most)/s;

  test('returns a token or a bad-request error for any value of a field', async () => {
    const token = await good();
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(token)), fc.jsonValue(), (key, value) =>
        isReadOrRefused(encodeContent({ ...token, [key]: value })),
      ),
      { numRuns: 500 },
    );
  });

  test('returns a token or a bad-request error when the text is truncated or changed', async () => {
    const text = encodeToken(await good());
    const place = fc.nat(text.length - 1);
    const character = fc.constantFrom(...'ABCxyz019+/=-_ \n"{');
    fc.assert(
      fc.property(place, (end) => isReadOrRefused(text.slice(0, end))),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(place, character, (at, other) => isReadOrRefused(text.slice(0, at) + other + text.slice(at + 1))),
      { numRuns: 500 },
    );
  });

  test('rejects random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        assert.match(refusalOf(Buffer.from(bytes).toString('base64'), now).message, TEXTS);
      }),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        assert.match(refusalOf(text, now).message, TEXTS);
      }),
      { numRuns: 300 },
    );
  });

  function isReadOrRefused(text: string): void {
    try {
      decodeToken(text, now);
    } catch (error) {
      assert.ok(error instanceof ServiceError && error.code === 'bad-request', String(error));
      assert.match(error.message, TEXTS);
    }
  }
});

describe('trustDomainOf', () => {
  for (const [serverName, trustDomain] of [
    ['server.dc1.peering.1111.consul', '1111.consul'],
    ['Server.DC1.Peering.1111.Accord', '1111.accord'],
    ['server.eu.dc1.peering.1111.accord', '1111.accord'],
    ['server.peering.1111.accord', ''],
    ['peer.example.com', ''],
  ] as const) {
    test(`returns "${trustDomain}" for ${serverName}`, () => {
      assert.equal(trustDomainOf(serverName), trustDomain);
      assert.equal(clusterOf(serverName), trustDomain || serverName.toLowerCase());
    });
  }
});

function refusalOf(text: string, nowMs: number): ServiceError {
  try {
    decodeToken(text, nowMs);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('the token was taken');
}
