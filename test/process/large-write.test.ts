/** The largest writes that the API accepts, on etcd with its default limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AclTokenJson } from '../../src/credentials/acl-token-to-json.ts';
import { GRANT_NAMES_MAX, GRANTS_MAX, TEXT_CHARACTERS_MAX, TOKEN_NAMES_MAX } from '../../src/credentials/limits.ts';
import { OUTPUT_CHARACTERS_MAX } from '../../src/peering/catalog/limits.ts';
import { startEtcd } from '../support/process/etcd.ts';
import { startEtcdServer } from '../support/process/etcd-server.ts';
import type { Answer } from '../support/process/server.ts';
import { skipWithout } from '../support/tools.ts';

/** The longest partition name, and the length of the longest name in a grant. */
const PARTITION = 'p'.repeat(63);
const LONGEST_NAME = 129;

test('a registration above etcd.max-txn-bytes returns 413 with the name of the limit, and changes nothing [V1-48]', {
  skip: skipWithout('etcd'),
  timeout: 60_000,
}, async () => {
  await using etcd = await startEtcd();
  await using server = await startEtcdServer({ endpoints: etcd.urls, settings: { 'etcd.max-txn-bytes': '64KiB' } });
  const Checks = Array.from({ length: 20 }, (_, i) => ({
    CheckID: `c${i}`,
    Name: 'alive',
    Status: 'passing',
    Output: 'x'.repeat(OUTPUT_CHARACTERS_MAX),
  }));
  const register = (fields: object): Promise<Answer> =>
    server.request('PUT', '/v1/catalog/register', { body: { Node: 'n1', Address: '10.0.0.1', ...fields } });
  const rejected = await register({ Service: { Service: 'web' }, Checks });
  assert.equal(rejected.status, 413, rejected.text);
  assert.match(rejected.text, /etcd\.max-txn-bytes \(65536\)/);
  assert.equal((await server.request('GET', '/v1/catalog/nodes')).text, '[]');
  const accepted = await register({ Service: { Service: 'web' }, Checks: Checks.slice(0, 10) });
  assert.deepEqual([accepted.status, accepted.text], [200, 'true']);
});

test('the largest token that the API accepts can be created, updated and deleted on etcd [ACL-12, ACL-16]', {
  skip: skipWithout('etcd'),
  timeout: 60_000,
}, async () => {
  await using etcd = await startEtcd();
  await using server = await startEtcdServer({ endpoints: etcd.urls });
  await server.request('PUT', `/v1/partition/${PARTITION}`, { body: {} });
  const names = Array.from({ length: TOKEN_NAMES_MAX }, (_, i) => `${`${i}-`.padEnd(LONGEST_NAME - 1, 'x')}*`);
  const Grants = Array.from({ length: GRANTS_MAX }, (_, i) => {
    const Names = names.slice(i * GRANT_NAMES_MAX, (i + 1) * GRANT_NAMES_MAX);
    return {
      Resource: 'services',
      Access: 'write',
      Partition: PARTITION,
      ...(Names.length === 0 ? {} : { Names }),
    };
  });
  // A control character needs six bytes in JSON.
  const Description = '\u0001'.repeat(TEXT_CHARACTERS_MAX);
  const created = await server.request('PUT', '/v1/acl/token', { body: { Description, Grants } });
  assert.equal(created.status, 200, created.text.slice(0, 500));
  const { AccessorID, Grants: kept } = created.json<AclTokenJson>();
  assert.equal(kept.flatMap(({ Names = [] }) => Names).length, TOKEN_NAMES_MAX);
  const other = Description.replace('\u0001', '\u0002');
  const changed = await server.request('PUT', `/v1/acl/token/${AccessorID}`, { body: { Description: other } });
  assert.equal(changed.status, 200, changed.text.slice(0, 500));
  const deleted = await server.request('DELETE', `/v1/acl/token/${AccessorID}`);
  assert.equal(deleted.status, 200, deleted.text);
});
