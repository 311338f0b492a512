/**
 * Who may call what at team access: every endpoint against every kind of caller, on what everybody may see and on what is
 * secret. An endpoint that is not open and stands in no row fails the first test, so none can be added without its rules.
 * Writes are asked with something that is refused after the right to make them was checked, so that nothing changes.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi, startApi } from '../support/process/api.ts';
import { OPERATIONS_TYPE } from '../support/team-access/operations.ts';
import { faults, NOT_FOUND, request, resource, seen, shown } from '../support/team-access/team-access.ts';
import { rows } from '../support/team-access/team-access-rows.ts';
import { CALLERS, makeWorld, NOBODIES, type World } from '../support/team-access/team-access-world.ts';

/** Endpoints with tests of their own for every kind of caller. */
const ELSEWHERE = /\/(team-workspaces|effective-access|access-matrix)\b/;

/** What is wrong with a query, and its status. */
const FAULTY = [
  ['include=zzz', 400],
  ['page[size]=0', 422],
  ['dry-run=perhaps', 400],
] as const;

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
        if (NOBODIES.some((one) => one === caller)) {
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

  test('If-Match is held against what is there wherever it is described, and refused everywhere else', async () => {
    const acme = await theWorld();
    const held = new Set<string>();
    for (const { endpoint, path, body, headers = {}, allowed } of rows) {
      const [method = '', pattern = ''] = endpoint.split(' ');
      if (method === 'GET') continue;
      const at = typeof path === 'string' ? path : await path(acme);
      // What changes nothing else is refused by that alone.
      const harmless = method === 'PATCH' ? resource((body as ReturnType<typeof resource>).data.type, {}) : body;
      const options = { body: harmless, headers: { ...headers, 'if-match': '"never"' } };
      const answer = await request(acme.api, acme.tokens[allowed[0] ?? 'nobody'], method, at, options);
      if (takesIfMatch(acme, method, `/api/v2${pattern}`)) {
        assert.ok([403, 404, 412].includes(answer.status), `${endpoint}: ${answer.text}`);
        if (answer.status === 412) held.add(endpoint);
      } else {
        assert.equal(answer.status, 400, `${endpoint}: ${answer.text}`);
        assert.match(String(faults(answer)[0]?.['detail']), /^there is no If-Match here/, endpoint);
      }
    }
    const described = acme.api.server.endpoints
      .filter(({ method, path }) => takesIfMatch(acme, method, path) && !ELSEWHERE.test(path))
      .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length)}`);
    assert.deepEqual([...held].toSorted(), described.toSorted());
  });

  test('what is wrong with the query is told before what it is asked of is looked for', async () => {
    const acme = await theWorld();
    let asked = 0;
    for (const { method, path, query = [] } of acme.api.server.endpoints) {
      if (!path.startsWith('/api/v2/')) continue;
      const nowhere = path.slice('/api/v2'.length).replaceAll(/:\w+/g, 'nowhere');
      const filters = query.filter(({ name }) => name.startsWith('filter[')).map(({ name }) => `&${name}=nowhere`);
      const faulty = query.flatMap(({ name }) => FAULTY.filter(([fault]) => fault.startsWith(`${name}=`)));
      for (const [fault, status] of faulty) {
        asked += 1;
        const headers = path.endsWith('/operations') ? { 'content-type': OPERATIONS_TYPE } : {};
        const at = `${nowhere}?${fault}${filters.join('')}`;
        const answer = await request(acme.api, acme.tokens.outsider, method, at, { headers });
        assert.equal(answer.status, status, `${method} ${at}: ${answer.text}`);
      }
    }
    assert.ok(asked > 15, `${asked} were asked`);
  });
});

/** Whether the description of an endpoint has it. */
const takesIfMatch = ({ api }: World, method: string, path: string): boolean =>
  api.server.endpoints.some(
    (endpoint) =>
      endpoint.method === method &&
      endpoint.path === path &&
      endpoint.headers?.some(({ name }) => name === 'If-Match') === true,
  );
