import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { OPERATIONS_TYPE, operate, refused } from '../../../../test/support/team-access/operations.ts';
import { type Company, sharedCompany } from '../../../../test/support/team-access/organizations.ts';
import { MEDIA_TYPE, request, seen, to } from '../../../../test/support/team-access/team-access.ts';
import { FAULTS_MAX } from '../../limits.ts';

const inAcme = { organization: to('organizations', 'acme') };
const team = { type: 'teams', attributes: { name: 'refused' }, relationships: inAcme };

/** What even a conversion to text would refuse. */
const notText = { toString: 1, valueOf: 1 };

/** Operations that are refused, each with where their faults are; the status is 422 unless there. */
const cases: readonly (readonly [string, unknown, readonly string[], number?])[] = [
  ['no object', 7, ['']],
  ['no op', {}, ['/op']],
  ['another op', { op: 'replace', data: team }, ['/op']],
  ['an add without data', { op: 'add' }, ['/data']],
  ['an add of a list', { op: 'add', data: [team] }, ['/data']],
  ['an add of an unknown type', { op: 'add', data: { type: 'workspaces' } }, ['/data/type']],
  [
    'an add without its organization',
    { op: 'add', data: { ...team, relationships: {} } },
    ['/data/relationships/organization'],
  ],
  ['an add to something that has an id', { op: 'add', ref: { type: 'teams', id: 'x' }, data: team }, ['/ref']],
  ['an add to a path with an id', { op: 'add', href: '/api/v2/teams/x', data: team }, ['/href']],
  ['an add of another type than the path', { op: 'add', href: '/api/v2/team-workspaces', data: team }, ['/data/type']],
  [
    'all faults of a row',
    { op: 'add', data: { type: 'team-workspaces', attributes: [], relationships: {} } },
    ['/data/attributes', '/data/relationships/team', '/data/relationships/workspace'],
  ],
  ['a lid that is no text', { op: 'add', data: { ...team, lid: 1 } }, ['/data/lid']],
  ['an update of nothing', { op: 'update', data: { type: 'teams' } }, ['/data/id']],
  ['an update of a collection', { op: 'update', href: '/api/v2/team-workspaces', data: team }, ['/href']],
  [
    'an update that names another',
    { op: 'update', ref: { type: 'teams', id: 'x' }, data: { ...team, id: 'y' } },
    ['/data/id'],
  ],
  ['an update of a membership', { op: 'update', data: { type: 'organization-memberships', id: 'x' } }, ['/op']],
  ['a removal of nothing', { op: 'remove', data: team }, ['/ref']],
  ['a removal of a collection', { op: 'remove', href: '/api/v2/team-workspaces' }, ['/href']],
  ['ref and href', { op: 'remove', ref: { type: 'teams', id: 'x' }, href: '/api/v2/teams/x' }, ['/href']],
  ['a ref that is no object', { op: 'remove', ref: 'x' }, ['/ref']],
  ['a ref of an unknown type', { op: 'remove', ref: { type: 'workspaces', id: 'x' } }, ['/ref/type']],
  ['a ref without an id', { op: 'remove', ref: { type: 'teams' } }, ['/ref/id']],
  ['a ref by a lid that is no text', { op: 'remove', ref: { type: 'teams', lid: notText } }, ['/ref/lid']],
  ['a ref by id and lid', { op: 'remove', ref: { type: 'teams', id: 'x', lid: 'fine' } }, ['/ref/lid']],
  ['an update by id and lid', { op: 'update', data: { type: 'teams', id: 'x', lid: 'fine' } }, ['/data/lid']],
  ['a ref to an unknown lid', { op: 'remove', ref: { type: 'teams', lid: 'x' } }, ['/ref/lid']],
  [
    'a ref to an unknown relationship',
    { op: 'remove', ref: { type: 'teams', id: 'x', relationship: 'rows' } },
    ['/ref/relationship'],
  ],
  [
    'members of a membership',
    { op: 'add', ref: { type: 'organization-memberships', id: 'x', relationship: 'users' } },
    ['/ref/relationship'],
  ],
  ['members that replace', { op: 'update', ref: { type: 'teams', id: 'x', relationship: 'users' }, data: [] }, ['/op']],
  [
    'members that are no list',
    { op: 'add', ref: { type: 'teams', id: 'x', relationship: 'users' }, data: {} },
    ['/data'],
  ],
  [
    'members of another type',
    {
      op: 'add',
      ref: { type: 'teams', id: 'x', relationship: 'users' },
      data: [{ type: 'teams', id: 'x' }, { type: 'users' }],
    },
    ['/data/0/type', '/data/1/id'],
  ],
  [
    'a member by an unknown lid',
    {
      op: 'add',
      ref: { type: 'teams', id: 'x', relationship: 'organization-memberships' },
      data: [{ type: 'organization-memberships', lid: 'x' }],
    },
    ['/data/0/lid'],
  ],
  [
    'a relationship to an unknown lid',
    {
      op: 'add',
      data: { type: 'team-workspaces', relationships: { team: { data: { type: 'teams', lid: 'x' } } } },
    },
    ['/data/relationships/team/data/lid'],
  ],
  [
    'a relationship with a name that a pointer escapes',
    { op: 'add', data: { type: 'team-workspaces', relationships: { 'a/b~c': { data: { type: 'teams', lid: 'x' } } } } },
    ['/data/relationships/a~1b~0c/data/lid'],
  ],
  [
    'a relationship by a lid whose type is no text',
    {
      op: 'add',
      data: { type: 'team-workspaces', relationships: { team: { data: { type: notText, lid: 'fine' } } } },
    },
    ['/data/relationships/team/data/lid'],
  ],
  ...[
    '',
    '/',
    'teams/x',
    '/api/v2',
    '/api/v2/',
    '/api/v2/teams',
    '/api/v2/workspaces/x',
    '/api/v2/teams/x/y',
    '/v1/teams/x',
    '/api/v2/organizations/acme/team-workspaces',
    '/api/v2/teams/x/relationships/rows',
    '/api/v2/teams/x/relationships/users/y',
    'https://example.org/api/v2/teams/x',
  ].map((href) => [`a path that leads nowhere: '${href}'`, { op: 'remove', href }, ['/href']] as const),
  ['a path that is no text', { op: 'remove', href: 7 }, ['/href']],
  ['a team that is not there', { op: 'remove', ref: { type: 'teams', id: 'team-0' } }, [''], 404],
  [
    'an organization that is not there',
    { op: 'add', data: { ...team, relationships: { organization: to('organizations', 'x') } } },
    [''],
    404,
  ],
  [
    'the team that owns the organization',
    ({ teams }: Company) => ({ op: 'remove', ref: { type: 'teams', id: teams.owners } }),
    [''],
    403,
  ],
  [
    'all attributes that are wrong',
    ({ teams, workspaces }: Company) => ({
      op: 'add',
      data: {
        type: 'team-workspaces',
        attributes: { access: 'read', runs: 'plan', variables: 'x' },
        relationships: { team: to('teams', teams.idle), workspace: to('workspaces', workspaces.main) },
      },
    }),
    ['/data/attributes/runs', '/data/attributes/variables', '/data/attributes/variables'],
  ],
];

describe('operations are refused:', () => {
  // Held: no job behind the requests commits meanwhile, nor the use of a token once more.
  const api = sharedApi({ clock: createFakeClock() });
  const company = sharedCompany(api);
  const fine = { op: 'add', data: { ...team, lid: 'fine' } };

  for (const [what, operation, pointers, status = 422] of cases) {
    test(what, async () => {
      const { index } = api().state.snapshot;
      const one =
        typeof operation === 'function' ? (operation as (of: Company) => unknown)(company().company) : operation;
      const answer = await operate(api(), company().owner, [fine, one]);
      assert.deepEqual(refused(answer), [status, ...pointers.map((pointer) => `/atomic:operations/1${pointer}`)]);
      await api().usesWritten();
      assert.equal(api().state.snapshot.index, index, 'nothing was written');
    });
  }

  test('the shapes of all of them at once, before anything is looked up', async () => {
    const list = [{ op: 'remove', ref: { type: 'teams', id: 'x' } }, { op: 'x' }, fine, { op: 'add' }, fine];
    assert.deepEqual(refused(await operate(api(), company().owner, list)), [
      422,
      '/atomic:operations/1/op',
      '/atomic:operations/3/data',
      '/atomic:operations/4/data/lid',
    ]);
  });

  test('of those that are well shaped the first alone, which the others build on', async () => {
    const list = ['x', 'y'].map((id) => ({ op: 'remove', ref: { type: 'teams', id } }));
    assert.deepEqual(refused(await operate(api(), company().owner, list)), [404, '/atomic:operations/0']);
  });

  test('a list that is wrong throughout, with as many faults as anybody reads', async () => {
    const relationships = { ...inAcme, teams: { data: Array.from({ length: 200_000 }, () => 0) } };
    const list = [fine, { op: 'add', data: { type: 'organization-memberships', relationships } }];
    const [status, ...pointers] = refused(await operate(api(), company().owner, list));
    assert.deepEqual([status, pointers.length], [422, FAULTS_MAX]);
    assert.equal(pointers[0], '/atomic:operations/1/data/relationships/teams/data/0');
  });

  test('a local id before it is there', async () => {
    const list = [{ op: 'update', ref: { type: 'teams', lid: 'fine' }, data: { type: 'teams' } }, fine];
    assert.deepEqual(refused(await operate(api(), company().owner, list)), [422, '/atomic:operations/0/ref/lid']);
  });

  for (const [body, pointer] of [
    ['', ''],
    ['{', ''],
    ['[]', ''],
    ['{}', '/atomic:operations'],
    ['{"atomic:operations":{}}', '/atomic:operations'],
    ['{"atomic:operations":null}', '/atomic:operations'],
  ] as const) {
    test(`a body that is ${body === '' ? 'empty' : body}`, async () => {
      const headers = { 'content-type': OPERATIONS_TYPE };
      const answer = await request(api(), company().owner, 'POST', '/operations', { body, headers });
      assert.deepEqual(refused(answer), [422, pointer]);
    });
  }

  for (const value of ['false', 'yes', 'True', '1']) {
    test(`?dry-run=${value}`, async () => {
      const answer = await operate(api(), company().owner, [fine], { query: `?dry-run=${value}` });
      const error =
        '{"status":"400","title":"bad request","detail":"dry-run must be true, or stand without a value","source":{"parameter":"dry-run"}}';
      assert.deepEqual(seen(answer), [400, `{"errors":[${error}]}`]);
    });
  }

  test('with an If-Match, which could hold of one thing only', async () => {
    for (const tag of ['"x"', '*']) {
      const answer = await operate(api(), company().owner, [fine], { headers: { 'if-match': tag } });
      const detail = 'there is no If-Match here: it goes with changing or deleting one thing, whose ETag a read tells';
      assert.deepEqual(seen(answer), [
        400,
        `{"errors":[${JSON.stringify({ status: '400', title: 'bad request', detail })}]}`,
      ]);
    }
  });

  const atomic = 'https://jsonapi.org/ext/atomic';
  for (const [contentType, status] of [
    [MEDIA_TYPE, 415],
    [`${MEDIA_TYPE};ext="https://example.org/other"`, 415],
    [`${MEDIA_TYPE};ext="${atomic} https://example.org/other"`, 415],
    [`application/json;ext="${atomic}"`, 415],
    [`${MEDIA_TYPE}; ext="${atomic}"`, 200],
    [`Application/VND.api+json;EXT="${atomic}";profile="https://example.org/p"`, 200],
  ] as const) {
    test(`${status} Content-Type: ${contentType}`, async () => {
      const answer = await operate(api(), company().owner, [], { headers: { 'content-type': contentType } });
      assert.equal(answer.status, status);
      if (status === 200) assert.equal(answer.headers['content-type'], OPERATIONS_TYPE);
    });
  }
  for (const [accept, status] of [
    ['text/html', 406],
    [`${MEDIA_TYPE};ext="https://example.org/other"`, 406],
    [`${MEDIA_TYPE};ext="https://example.org/other", text/html`, 406],
    [OPERATIONS_TYPE, 200],
    [`${MEDIA_TYPE};ext="https://example.org/other", ${OPERATIONS_TYPE}`, 200],
    [MEDIA_TYPE, 200],
    ['*/*', 200],
  ] as const) {
    test(`${status} Accept: ${accept}`, async () => {
      assert.equal((await operate(api(), company().owner, [], { headers: { accept } })).status, status);
    });
  }
});
