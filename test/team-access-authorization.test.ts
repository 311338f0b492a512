/**
 * Who may call what at team access: every endpoint against every kind of caller, on what everybody may see and on what is
 * secret. An endpoint that is not open and stands in no row fails the first test, so none can be added without its rules.
 * Writes are asked with something that is refused after the right to make them was checked, so that nothing changes.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi, startApi } from './support/api.ts';
import { NOT_FOUND, request, resource, seen, shown } from './support/team-access.ts';
import { rows } from './support/team-access-rows.ts';
import { CALLERS, makeWorld, type World } from './support/team-access-world.ts';

/** Endpoints with tests of their own for every kind of caller. */
const ELSEWHERE = /\/(team-workspaces|effective-access|access-matrix)\b/;

test('every endpoint of team access that is not open has a row, and no row is left over', async () => {
  await using api = await startApi();
  const guarded = api.server.endpoints
    .filter(({ open, path }) => open !== true && path.startsWith('/api/v2/'))
    .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length)}`)
    .filter((endpoint) => !ELSEWHERE.test(endpoint));
  assert.deepEqual([...new Set(rows.map(({ endpoint }) => endpoint))].toSorted(), guarded.toSorted());
});

describe('team access', () => {
  const api = sharedApi();
  let world: Promise<World> | undefined;
  const theWorld = (): Promise<World> => {
    world ??= makeWorld(api()).then(async (acme) => {
      const body = resource('organizations', { name: 'beta', email: 'b@example.org' });
      shown(await request(acme.api, acme.tokens.owner, 'POST', '/organizations', { body }));
      return acme;
    });
    return world;
  };

  for (const { endpoint, path, on, allowed, status = 200, ...options } of rows) {
    test(`${endpoint}${on === undefined ? '' : `, ${on}`}: ${allowed.join(', ')}`, async () => {
      const acme = await theWorld();
      for (const caller of CALLERS) {
        const at = typeof path === 'string' ? path : await path(acme);
        const method = endpoint.split(' ')[0] ?? '';
        const answer = await request(acme.api, acme.tokens[caller], method, at, options);
        if (caller === 'nobody' || caller === 'expired') {
          const text = '{"errors":[{"status":"401","title":"unauthorized"}]}';
          assert.deepEqual(seen(answer), [401, text], caller);
        } else if (allowed.includes(caller)) {
          assert.equal(answer.status, status, `${caller}: ${answer.text}`);
        } else {
          assert.deepEqual(seen(answer), NOT_FOUND, caller);
        }
      }
    });
  }
});
