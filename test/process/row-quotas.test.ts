/** Row quotas, the reserve, and byte rates through the HTTP API. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { partitions } from '../../src/credentials/partition.ts';
import type { users } from '../../src/credentials/user.ts';
import { organizations } from '../../src/team-access/tables/organization.ts';
import { type Api, sharedApi, startApi } from '../support/process/api.ts';
import { countByWalking, dumpState } from '../support/state/state.ts';
import { createOrganizationFixture, makeTeam, makeUser } from '../support/team-access/organization-fixture.ts';
import { errorsOf, makeOrganization, request, resource } from '../support/team-access/team-access.ts';

const countOf = (api: Api, table: typeof organizations | typeof users | typeof partitions, key: string): number =>
  api.state.snapshot.rowCounts.get(table as typeof organizations, key);

const organizationId = (api: Api, name: string): string =>
  api.state.snapshot.find(organizations, 'name', name)?.row.id ?? '';

const addTeam = (api: Api, token: string, organization: string, name: string) =>
  request(api, token, 'POST', `/organizations/${organization}/teams`, { body: resource('teams', { name }) });

const register = (api: Api, partition: string, node: string, token = api.token) =>
  api.request('PUT', `/v1/catalog/register?partition=${partition}`, {
    body: { Node: node, Address: '10.0.0.1', Service: { Service: 'web' } },
    token,
  });

describe('the quota of an organization', () => {
  // An organization starts with a project, a membership, the owners team and its member.
  const api = sharedApi({ limits: { rowsPerOrganization: 6 } });

  test('refuses one more row with 422, and does not affect other organizations [SRV-112] [TEAM-36]', async () => {
    const { token } = await makeUser(api(), 'owner');
    await makeOrganization(api(), token, 'acme');
    await makeOrganization(api(), token, 'beta');
    const first = await makeTeam(api(), token, 'acme', { name: 'one' });
    await makeTeam(api(), token, 'acme', { name: 'two' });
    const before = dumpState(api().state.snapshot);
    const answer = await addTeam(api(), token, 'acme', 'three');
    assert.equal(answer.status, 422);
    assert.deepEqual(errorsOf(answer), [
      {
        status: '422',
        title: 'quota exceeded',
        detail:
          'organization "acme" would have 7 rows, and limits.rows-per-organization is 6: remove rows, or ask an operator to raise the limit',
      },
    ]);
    assert.deepEqual(dumpState(api().state.snapshot)['teams'], before['teams']);
    assert.equal((await addTeam(api(), token, 'beta', 'one')).status, 200);
    assert.equal((await request(api(), token, 'DELETE', `/teams/${first.id}`)).status, 204);
    assert.equal((await addTeam(api(), token, 'acme', 'three')).status, 200);
  });

  test('counts every row of an organization, but no row of another one [SRV-112]', async () => {
    await using own = await startApi();
    await createOrganizationFixture(own);
    const fixture = await createOrganizationFixture(own, 'beta');
    const { snapshot } = own.state;
    const counted = countByWalking(snapshot);
    const dump = dumpState(snapshot);
    for (const table of ['users', 'organizations', 'teams', 'partitions']) {
      assert.deepEqual(dump[`counts ${table}`], counted[`counts ${table}`], table);
    }
    assert.equal(
      countOf(own, organizations, organizationId(own, 'acme')),
      countOf(own, organizations, organizationId(own, 'beta')),
    );
    const betaId = organizationId(own, 'beta');
    const deleted = await request(own, fixture.tokens.owner ?? '', 'DELETE', '/organizations/beta');
    assert.equal(deleted.status, 204);
    assert.equal(countOf(own, organizations, betaId), 0);
    const after = dumpState(own.state.snapshot);
    for (const [table, counts] of Object.entries(countByWalking(own.state.snapshot)))
      assert.deepEqual(after[table], counts);
  });
});

describe('the quota of a user', () => {
  const api = sharedApi({ limits: { rowsPerUser: 11 } });

  test('bounds all organizations that the user created together, but not those of an administrator [SRV-112]', async () => {
    const { token } = await makeUser(api(), 'maker');
    // Two organizations have five rows each, and the token counts, too.
    await makeOrganization(api(), token, 'a');
    await makeOrganization(api(), token, 'b');
    const refused = await addTeam(api(), token, 'b', 'one');
    assert.equal(refused.status, 422);
    assert.match(String(errorsOf(refused)[0]?.['detail']), /^user "maker" would have 12 rows, .*limits\.rows-per-user/);
    for (const name of ['c', 'd', 'e']) await makeOrganization(api(), api().adminToken, name);
    const other = await makeUser(api(), 'other');
    await makeOrganization(api(), other.token, 'f');
  });
});

describe('the quota of a partition', () => {
  const api = sharedApi({ limits: { rowsPerPartition: 12 } });

  test('refuses one more row with 422, and affects neither other partitions nor operators [SRV-112]', async () => {
    await api().makePartitions('eu', 'us');
    const { SecretID: writer } = await api().makeToken(['services:write@eu', 'services:write@us', 'config:write@eu']);
    for (const node of ['a', 'b', 'c', 'd']) assert.equal((await register(api(), 'eu', node, writer)).status, 200);
    // A service takes more than 2 KiB of memory, so it counts twice.
    assert.equal(countOf(api(), partitions, 'eu'), 12);
    const refused = await register(api(), 'eu', 'e', writer);
    assert.equal(refused.status, 422);
    assert.match(refused.text, /^partition "eu" would have 15 rows, and limits\.rows-per-partition is 12: /);
    const entry = { Kind: 'service-intentions', Name: 'web', Sources: [{ Name: 'api', Action: 'allow' }] };
    const written = await api().request('PUT', '/v1/config?partition=eu', { body: entry, token: writer });
    assert.equal(written.status, 422);
    assert.equal((await register(api(), 'us', 'a', writer)).status, 200);
    // The server's own token holds operator:write.
    assert.equal((await register(api(), 'eu', 'e')).status, 200);
    const changed = { Node: 'a', Address: '10.0.0.2', Service: { Service: 'web', Port: 80 } };
    const update = await api().request('PUT', '/v1/catalog/register?partition=eu', { body: changed, token: writer });
    assert.equal(update.status, 200);
    for (const node of ['a', 'b']) {
      const body = { Node: node };
      const removed = await api().request('PUT', '/v1/catalog/deregister?partition=eu', { body, token: writer });
      assert.equal(removed.status, 200);
    }
    assert.equal(countOf(api(), partitions, 'eu'), 9);
    assert.equal((await register(api(), 'eu', 'f', writer)).status, 200);
  });

  test('starts from nothing in a partition that is deleted and created again [STATE-114]', async () => {
    await api().makePartitions('again');
    assert.equal((await register(api(), 'again', 'n')).status, 200);
    const body = { Node: 'n' };
    assert.equal((await api().request('PUT', '/v1/catalog/deregister?partition=again', { body })).status, 200);
    assert.equal((await api().request('DELETE', '/v1/partition/again')).status, 200);
    assert.equal(countOf(api(), partitions, 'again'), 0);
    await api().makePartitions('again');
    assert.equal((await register(api(), 'again', 'n')).status, 200);
    assert.equal(countOf(api(), partitions, 'again'), 3);
  });
});

describe('a full state', () => {
  test('refuses ordinary callers, while operators act and everybody removes [STATE-115]', async () => {
    await using api = await startApi({ limits: { rowsMax: 1_000 } });
    await api.makePartitions('eu');
    const { SecretID: writer } = await api.makeToken(['services:write', 'services:write@eu', 'acl:write']);
    const owner = await makeUser(api, 'owner');
    await makeOrganization(api, owner.token, 'acme');
    let refused = await register(api, 'default', 'n0', writer);
    const fill = async (partition: string): Promise<void> => {
      for (let id = 1; refused.status === 200 && id < 1_000; id++) {
        const body = { Node: `n${id}`, Address: '10.0.0.1' };
        refused = await api.request('PUT', `/v1/catalog/register?partition=${partition}`, { body, token: writer });
      }
    };
    await fill('default');
    assert.equal(refused.status, 422);
    assert.match(
      refused.text,
      /would have 901 rows, and its share of the row limit \(limits\.rows-per-partition\) is 900/,
    );
    refused = await register(api, 'eu', 'n0', writer);
    await fill('eu');
    assert.equal(refused.status, 507);
    assert.match(refused.text, /state\.rows-max is 1000: .*; the last 20 rows are for operators/);
    const team = await addTeam(api, owner.token, 'acme', 'x');
    assert.deepEqual([team.status, errorsOf(team)[0]?.['title']], [507, 'insufficient storage']);
    assert.equal((await api.makeToken(['acl:read'])).Description, '');
    await makeUser(api, 'another');
    const removed = await api.request('PUT', '/v1/catalog/deregister', { body: { Node: 'n0' }, token: writer });
    assert.equal(removed.status, 200);
    assert.equal((await request(api, owner.token, 'DELETE', '/organizations/acme')).status, 204);
  });
});

describe('the rate of written bytes', () => {
  const api = sharedApi({ limits: { writeRate: 1_024 } });

  test('answers 429 to a token that writes one name over and over, and serves all others [SRV-114] [STATE-117]', async () => {
    const { SecretID: writer } = await api().makeToken(['services:write=web']);
    const { SecretID: other } = await api().makeToken(['services:write=web']);
    const write = (token: string, round: number) =>
      api().request('PUT', '/v1/catalog/register', {
        body: {
          Node: 'n',
          Address: '10.0.0.1',
          SkipNodeUpdate: true,
          Service: { Service: 'web', Meta: { a: `${round}`.repeat(200) } },
        },
        token,
      });
    await register(api(), 'default', 'n');
    let answer = await write(writer, 0);
    for (let round = 1; answer.status === 200 && round < 1_000; round++) answer = await write(writer, round);
    assert.equal(answer.status, 429, answer.text);
    assert.match(answer.text, /^too many bytes were written: .*limits\.write-rate is 1024 per second/);
    assert.ok(Number(answer.headers['retry-after']) >= 1);
    assert.equal((await write(other, 1)).status, 200);
    assert.equal((await write(api().token, 2)).status, 200);
  });
});
