import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../test/support/process/api.ts';
import type { AclTokenJson } from './acl-token-to-json.ts';

const SYNTAX =
  "is not a valid partition name: a valid partition name must consist of alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long";
const COMMUNITY = 'Invalid query parameter: "partition" - Partitions are an Accord Enterprise feature';

describe('the partition of a request in the enterprise edition [ACL-47] [ACL-48]', () => {
  const shared = sharedApi();
  interface Given {
    readonly query?: string;
    readonly header?: string;
    readonly body?: string;
    /** The partition of the caller's token. */
    readonly own?: string;
  }
  const rows: readonly (readonly [given: Given, partition: string | { readonly error: string }])[] = [
    [{}, 'default'],
    [{ own: 'eu' }, 'eu'],
    [{ own: 'eu', query: 'us' }, 'us'],
    [{ own: 'eu', query: '', header: '', body: '' }, 'eu'],
    [{ query: 'eu' }, 'eu'],
    [{ header: 'eu' }, 'eu'],
    [{ body: 'eu' }, 'eu'],
    [{ query: 'EU', header: 'Eu', body: 'eU' }, 'eu'],
    [{ query: 'eu', body: 'us' }, { error: 'the request names two partitions, "eu" and "us": want one' }],
    [{ query: 'eu', header: 'us' }, { error: 'the request names two partitions, "eu" and "us": want one' }],
    [{ header: 'us', body: 'eu' }, { error: 'the request names two partitions, "eu" and "us": want one' }],
    [{ query: 'nowhere' }, { error: 'partition "nowhere" does not exist' }],
    [{ query: 'a_b' }, { error: `a_b ${SYNTAX}` }],
    [{ header: 'a b' }, { error: `a b ${SYNTAX}` }],
    [{ query: '*' }, { error: '* is not a valid partition name: only lists accept *, for all partitions' }],
  ];
  for (const [given, expected] of rows) {
    const text = typeof expected === 'string' ? expected : expected.error;
    test(`${JSON.stringify(given)} → ${text}`, async () => {
      const api = shared();
      await api.makePartitions('eu', 'us');
      const { SecretID: token } = await api.makeToken(['acl:write@*'], { Partition: given.own ?? 'default' });
      const query = given.query === undefined ? '' : `?partition=${encodeURIComponent(given.query)}`;
      const answer = await api.request('PUT', `/v1/acl/token${query}`, {
        token,
        body: given.body === undefined ? {} : { Partition: given.body },
        headers: given.header === undefined ? {} : { 'x-service-partition': given.header },
      });
      if (typeof expected === 'string') assert.equal(answer.json<AclTokenJson>().Partition, expected);
      else assert.deepEqual([answer.status, answer.text], [400, expected.error]);
    });
  }
});

describe('the community edition [ACL-54] [ACL-55]', () => {
  const shared = sharedApi({ edition: 'community' });
  const token = '/v1/acl/token';
  type Row = readonly [method: string, path: string, body: unknown, header?: string];
  const rejected: readonly Row[] = [
    ['GET', '/v1/acl/tokens?partition=eu', undefined],
    ['GET', '/v1/acl/tokens?partition=default', undefined],
    ['GET', '/v1/acl/tokens?partition=*', undefined],
    ['GET', '/v1/acl/tokens', undefined, 'eu'],
    ['PUT', token, { Partition: 'eu' }],
    ['PUT', '/v1/partition/eu', {}],
    ['GET', '/v1/partition/default', undefined],
    ['DELETE', '/v1/partition/eu', undefined],
    ['GET', '/v1/partitions', undefined],
    ['GET', '/v1/audit?partition=eu', undefined],
    ['GET', '/v1/operator/export?partition=eu', undefined],
  ];
  for (const [method, path, body, header] of rejected) {
    const given = [body, header].filter((part) => part !== undefined).map((part) => JSON.stringify(part));
    test(`rejects ${[method, path, ...given].join(' ')} with and without a token`, async () => {
      const api = shared();
      const headers = header === undefined ? {} : { 'x-service-partition': header };
      for (const secret of [api.token, null]) {
        const answer = await api.request(method, path, { body, headers, token: secret });
        assert.deepEqual([answer.status, answer.text], [400, COMMUNITY]);
      }
    });
  }

  test('accepts an empty partition, and default in the header and the body', async () => {
    const api = shared();
    assert.equal((await api.request('GET', '/v1/acl/tokens?partition=')).status, 200);
    const headers = { 'x-service-partition': 'Default' };
    const answer = await api.request('PUT', token, { body: { Partition: 'default' }, headers });
    assert.equal(answer.json<AclTokenJson>().Partition, 'default');
  });

  test('accepts only default and * as the partition of a grant', async () => {
    const api = shared();
    const grant = (Partition: string) => ({ Grants: [{ Resource: 'peering', Access: 'read', Partition }] });
    assert.equal((await api.request('PUT', token, { body: grant('default') })).status, 200);
    assert.equal((await api.request('PUT', token, { body: grant('*') })).status, 200);
    const answer = await api.request('PUT', token, { body: grant('eu') });
    assert.deepEqual([answer.status, answer.text], [400, `Grants[0].Partition: ${COMMUNITY}`]);
  });
});
