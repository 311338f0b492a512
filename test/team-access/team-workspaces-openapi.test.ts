/** Checks that responses about rows and effective access match the OpenAPI description of `/api/v2` [TEAM-5]. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { OpenApi } from '../../src/http/openapi/openapi.ts';
import { teamMembers } from '../../src/team-access/tables/team.ts';
import { startApi } from '../support/process/api.ts';
import { assertConformsToOpenApi } from '../support/process/openapi-conformance.ts';
import { makeCompany, rowBody } from '../support/team-access/organizations.ts';
import { documentOf, request, resource } from '../support/team-access/team-access.ts';

const ROWS = '/api/v2/team-workspaces';

describe('the OpenAPI description of rows and effective access', () => {
  for (const terraform of [false, true]) {
    test(`matches the responses ${terraform ? 'with' : 'without'} compat: terraform`, async () => {
      await using api = await startApi({ terraform, rateLimit: 1_000 });
      const { tokens, teams, workspaces, rows } = await makeCompany(api.state, 'acme');
      const description = (await request(api, tokens.owner, 'GET', '/openapi.json')).json<OpenApi>();
      const { valid, errors } = await new Validator().validate(structuredClone(description) as never);
      assert.equal(valid, true, JSON.stringify(errors));
      const check = async (
        endpoint: string,
        path: string,
        status: number,
        options: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
      ) => {
        const [method = ''] = endpoint.split(' ');
        const answer = await request(api, tokens.owner, method, path, options);
        assert.equal(answer.status, status, `${endpoint}: ${answer.text}`);
        assertConformsToOpenApi(description, endpoint, answer);
        return answer;
      };
      const [member] = api.state.snapshot.list(teamMembers, 'team', teams.visible);
      const userId = member?.row.userId ?? assert.fail('the team has no member');
      const list = `/team-workspaces?filter[workspace][id]=${workspaces.main}`;
      const one = `/team-workspaces/${rows.visible}`;
      await check(`GET ${ROWS}`, list, 200);
      await check(`GET ${ROWS}`, `${list}&page[size]=1&include=team,workspace`, 200);
      await check(`GET ${ROWS}`, `${list}&page[size]=0`, 422);
      await check(`GET ${ROWS}`, `${list}&include=x`, 400);
      const { etag = '' } = (await check(`GET ${ROWS}/:id`, `${one}?include=team`, 200)).headers;
      await check(`GET ${ROWS}/:id`, `${one}?include=team`, 304, { headers: { 'if-none-match': etag } });
      await check(`GET ${ROWS}/:id`, one, 406, { headers: { accept: 'text/html' } });
      await check(`GET ${ROWS}/:id`, '/team-workspaces/tws-x', 404);
      await check('GET /api/v2/teams/:id/team-workspaces', `/teams/${teams.secret}/team-workspaces`, 200);
      const body = rowBody(teams.idle, workspaces.main, { access: 'custom', 'expires-at': '2999-01-01T00:00:00Z' });
      const made = documentOf(await check(`POST ${ROWS}`, '/team-workspaces', 200, { body })).data;
      await check(`POST ${ROWS}`, '/team-workspaces', 422, { body });
      await check(`POST ${ROWS}`, '/team-workspaces', 415, { body, headers: { 'content-type': 'text/plain' } });
      const change = { body: resource('team-workspaces', { access: 'plan', 'expires-at': null }) };
      await check(`PATCH ${ROWS}/:id`, `/team-workspaces/${made.id}`, 200, change);
      await check(`PATCH ${ROWS}/:id`, `/team-workspaces/${made.id}`, 412, {
        ...change,
        headers: { 'if-match': '"x"' },
      });
      await check(`DELETE ${ROWS}/:id`, `/team-workspaces/${made.id}`, 204);
      const effective = `/workspaces/${workspaces.main}/effective-access`;
      for (const query of ['', `?filter[team]=${teams.secret}`, `?filter[team]=${teams.idle}`]) {
        await check('GET /api/v2/workspaces/:id/effective-access', `${effective}${query}`, 200);
      }
      await check('GET /api/v2/organizations/:name/access-matrix', '/organizations/acme/access-matrix', 200);
      const reached = `/users/${userId}/effective-access?filter[organization]=acme`;
      await check('GET /api/v2/users/:id/effective-access', reached, 200);
    });
  }
});
