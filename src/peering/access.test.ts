/** Authorization of the peering endpoints: each with and without a grant on the name in the partition. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mustGenerate, mustReadRecord, statusAndText } from '../../test/support/peering/peering-requests.ts';
import { type Api, type CreatedToken, startApi } from '../../test/support/process/api.ts';
import type { Answer } from '../../test/support/process/server.ts';
import { peerings } from './record/record.ts';

interface Operation {
  readonly method: string;
  readonly path: (name: string, partition: string) => string;
  readonly body?: (name: string, partition: string) => unknown;
  readonly access: 'read' | 'write';
}

const operations: Readonly<Record<string, Operation>> = {
  generate: {
    method: 'POST',
    path: () => '/v1/peering/token',
    body: (PeerName, Partition) => ({ PeerName, Partition }),
    access: 'write',
  },
  establish: {
    method: 'POST',
    path: () => '/v1/peering/establish',
    body: (PeerName, Partition) => ({ PeerName, Partition, PeeringToken: 'x' }),
    access: 'write',
  },
  read: { method: 'GET', path: (name, partition) => `/v1/peering/${name}?partition=${partition}`, access: 'read' },
  'read the token of': {
    method: 'GET',
    path: (name, partition) => `/v1/peering/${name}/token?partition=${partition}`,
    access: 'write',
  },
  'revoke the token of': {
    method: 'DELETE',
    path: (name, partition) => `/v1/peering/${name}/token?partition=${partition}`,
    access: 'write',
  },
  delete: {
    method: 'DELETE',
    path: (name, partition) => `/v1/peering/${name}?partition=${partition}`,
    access: 'write',
  },
};

/** Grants, and whether each permits reading and writing `Prod-1` in `eu`. */
const grants: readonly (readonly [grant: string, reads: boolean, writes: boolean])[] = [
  ['peering:read@eu', true, false],
  ['peering:write@eu', true, true],
  ['peering:write@EU', true, true],
  ['peering:write@*', true, true],
  ['peering:read@eu=prod-1', true, false],
  ['peering:write@eu=PROD-1', true, true],
  ['peering:write@eu=pRoD-*', true, true],
  ['peering:write@*=*', true, true],
  ['peering:write@eu=prod-', false, false],
  ['peering:write@eu=prod-10,prod-2', false, false],
  ['peering:write@us', false, false],
  ['peering:write@us=prod-1', false, false],
  ['services:write@*', false, false],
  ['config:write@*=prod-1', false, false],
];

describe('grants on peerings [ACL-21] [ACL-25] [V1-53]', () => {
  let api: Api;
  before(async () => {
    api = await startApi();
    await api.makePartitions('eu', 'us');
    for (const partition of ['eu', 'us']) await mustGenerate(api, 'Prod-1', { Partition: partition });
  });
  after(() => api[Symbol.asyncDispose]());

  for (const [grant, reads, writes] of grants) {
    for (const [what, operation] of Object.entries(operations)) {
      const allowed = operation.access === 'read' ? reads : writes;
      test(`${grant} ${allowed ? 'permits' : 'does not permit'} ${what} of a peering`, async () => {
        const holder = await api.makeToken([grant], { Partition: 'us' });
        if (allowed) await taken(operation, holder.SecretID);
        else await refused(operation, holder, !grant.includes('@*'));
      });
    }
  }

  const ask = ({ method, path, body }: Operation, name: string, partition: string, token: string): Promise<Answer> =>
    api.request(method, path(name, partition), { body: body?.(name, partition), token });

  async function taken(operation: Operation, token: string): Promise<void> {
    for (const name of ['Prod-1', 'prod-1']) {
      const answer = await ask(operation, name, 'eu', token);
      // The token is invalid, so 400 proves that the grant was accepted.
      assert.equal(answer.status, operation === operations['establish'] ? 400 : 200, answer.text);
    }
    // Recreates the deleted peering.
    await api.state.write((tx) => {
      for (const { row } of tx.list(peerings, 'partition', 'eu')) tx.delete(peerings, row.id);
    });
    await mustGenerate(api, 'Prod-1', { Partition: 'eu' });
  }

  /** Returns the responses for hidden, missing and impossible names, which must be identical. */
  async function refused(operation: Operation, holder: CreatedToken, alsoNowhere: boolean): Promise<void> {
    const text = `Permission denied: token with AccessorID '${holder.AccessorID}' lacks permission 'peering:${operation.access}'`;
    const before = await mustReadRecord(api, 'prod-1', '?partition=eu');
    const places = [
      ['Prod-1', 'eu'],
      ['prod-1', 'eu'],
      ['absent', 'eu'],
      ...(alsoNowhere ? [['prod-1', 'nowhere']] : []),
    ];
    for (const [name = '', partition = ''] of places) {
      assert.deepEqual(statusAndText(await ask(operation, name, partition, holder.SecretID)), [403, text]);
    }
    assert.deepEqual(await mustReadRecord(api, 'prod-1', '?partition=eu'), before);
  }
});

describe('the partition of a request', () => {
  test('comes from query, body and header, which must agree, or from the token', async () => {
    await using api = await startApi();
    await api.makePartitions('eu', 'us');
    const headers = { 'x-service-partition': 'us' };
    const ask = (query: string, Partition: string | undefined, header: boolean) =>
      api.request('POST', `/v1/peering/token${query}`, {
        body: { PeerName: 'a', ...(Partition !== undefined && { Partition }) },
        ...(header && { headers }),
      });
    for (const answer of [
      await ask('?partition=eu', 'us', false),
      await ask('?partition=eu', undefined, true),
      await ask('', 'eu', true),
    ]) {
      assert.equal(answer.status, 400);
      assert.match(answer.text, /^the request names two partitions, "eu" and "us": want one$/);
    }
    assert.equal((await ask('?partition=US', 'us', true)).status, 200);
    const { SecretID: token } = await api.makeToken(['peering:read@us'], { Partition: 'us' });
    assert.equal((await api.request('GET', '/v1/peering/a', { token })).status, 200);
    assert.equal((await api.request('GET', '/v1/peering/a')).status, 404);
    assert.equal((await api.request('GET', '/v1/peering/a', { headers })).status, 200);
  });
});

describe('in the community edition', () => {
  const TEXT = 'Invalid query parameter: "partition" - Partitions are an Accord Enterprise feature';

  test('returns 400 for a partition in the query, header or body before any other check', async () => {
    await using api = await startApi({ edition: 'community' });
    for (const [what, { method, path, body }] of Object.entries(operations)) {
      const answer = await api.request(method, path('a', 'default'), { body: body?.('a', 'eu'), token: 'unknown' });
      assert.deepEqual(statusAndText(answer), [400, TEXT], what);
    }
    for (const partition of ['*', 'default', 'eu']) {
      assert.deepEqual(statusAndText(await api.request('GET', `/v1/peerings?partition=${partition}`)), [400, TEXT]);
    }
  });

  test('uses the default partition, which a body may name', async () => {
    await using api = await startApi({ edition: 'community' });
    await mustGenerate(api, 'a', { Partition: 'Default' });
    const answer = await api.request('GET', '/v1/peerings?partition=');
    assert.equal(answer.json<{ Partition: string }[]>()[0]?.Partition, 'default');
    assert.equal((await api.request('GET', '/v1/peering/a')).status, 200);
    assert.equal((await api.request('DELETE', '/v1/peering/a')).status, 200);
  });
});
