import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import { sendOperations } from '../../../test/support/team-access/operations.ts';
import { errorsOf, makeOrganization, request, toOne } from '../../../test/support/team-access/team-access.ts';
import { DRY_RUN } from './request-pipeline.ts';

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly parameters: readonly Named[] }>>>>;
}
interface Named {
  readonly name: string;
  readonly allowEmptyValue?: boolean;
}

describe('dry-run', () => {
  const api = sharedApi();

  test('returns 400 for every write without a dry run', async () => {
    const { paths } = (await request(api(), api().adminToken, 'GET', '/openapi.json')).json<Description>();
    const writes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => ['post', 'put', 'patch', 'delete'].includes(method))
        .map(([method, { parameters }]) => ({
          method,
          path,
          has: parameters.some(({ name }) => name === DRY_RUN.name),
        })),
    );
    const without = writes.filter(({ has }) => !has);
    assert.equal(writes.length - without.length, 2, 'operations and complete sets have one');
    assert.ok(without.length > 20, `${without.length} writes`);
    for (const { method, path } of without) {
      const at = `${path.replace('/api/v2', '').replaceAll(/\{\w+\}/g, 'x')}?dry-run=true`;
      const answer = await request(api(), api().adminToken, method.toUpperCase(), at);
      const [error] = errorsOf(answer);
      assert.deepEqual([answer.status, error?.['source']], [400, { parameter: 'dry-run' }], `${method} ${path}`);
      assert.match(String(error?.['detail']), /^Invalid dry-run parameter "dry-run": this endpoint has /);
    }
  });

  test('accepts a parameter without a value, and describes it so', async () => {
    await makeOrganization(api(), api().adminToken, 'bare');
    const relationships = { organization: toOne('organizations', 'bare') };
    const add = { op: 'add', data: { type: 'teams', attributes: { name: 'dry' }, relationships } };
    for (const query of ['?dry-run', '?dry-run=', '?dry-run=true']) {
      const answer = await sendOperations(api(), api().adminToken, [add], { query });
      assert.deepEqual([answer.status, answer.json<{ meta: unknown }>().meta], [200, { 'dry-run': true }], query);
    }
    const { paths } = (await request(api(), null, 'GET', '/openapi.json')).json<Description>();
    const described = paths['/api/v2/operations']?.['post']?.parameters.find(({ name }) => name === DRY_RUN.name);
    assert.equal(described?.allowEmptyValue, true);
  });
});
