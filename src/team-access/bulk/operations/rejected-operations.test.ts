import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { OPERATIONS_TYPE, rejection, sendOperations } from '../../../../test/support/team-access/operations.ts';
import { type Company, sharedCompany } from '../../../../test/support/team-access/organizations.ts';
import { MEDIA_TYPE, request, statusAndText, toOne } from '../../../../test/support/team-access/team-access.ts';
import { ERRORS_MAX } from '../../limits.ts';

const inAcme = { organization: toOne('organizations', 'acme') };
const team = { type: 'teams', attributes: { name: 'refused' }, relationships: inAcme };

/** A value whose conversion to a string throws. */
const notText = { toString: 1, valueOf: 1 };

/** Rejected operations with the pointers of their errors. The status is 422 unless a case has another. */
const cases: readonly (readonly [string, unknown, readonly string[], number?])[] = [
  ['an operation that is not an object', 7, ['']],
  ['an operation without op', {}, ['/op']],
  ['an unknown op', { op: 'replace', data: team }, ['/op']],
  ['an add without data', { op: 'add' }, ['/data']],
  ['an add of a list', { op: 'add', data: [team] }, ['/data']],
  ['an add of an unknown type', { op: 'add', data: { type: 'workspaces' } }, ['/data/type']],
  // [TEAM-65]
  [
    'an add without its organization',
    { op: 'add', data: { ...team, relationships: {} } },
    ['/data/relationships/organization'],
  ],
  ['an add to a resource', { op: 'add', ref: { type: 'teams', id: 'x' }, data: team }, ['/ref']],
  ['an add to a path with an id', { op: 'add', href: '/api/v2/teams/x', data: team }, ['/href']],
  ['an add of another type than the path', { op: 'add', href: '/api/v2/team-workspaces', data: team }, ['/data/type']],
  [
    'a row with all of its errors',
    { op: 'add', data: { type: 'team-workspaces', attributes: [], relationships: {} } },
    ['/data/attributes', '/data/relationships/team', '/data/relationships/workspace'],
  ],
  ['a lid that is not a string', { op: 'add', data: { ...team, lid: 1 } }, ['/data/lid']],
  ['an update without a target', { op: 'update', data: { type: 'teams' } }, ['/data/id']],
  ['an update of a collection', { op: 'update', href: '/api/v2/team-workspaces', data: team }, ['/href']],
  [
    'an update whose data has another ID',
    { op: 'update', ref: { type: 'teams', id: 'x' }, data: { ...team, id: 'y' } },
    ['/data/id'],
  ],
  ['an update of a membership', { op: 'update', data: { type: 'organization-memberships', id: 'x' } }, ['/op']],
  ['a removal without a target', { op: 'remove', data: team }, ['/ref']],
  ['a removal of a collection', { op: 'remove', href: '/api/v2/team-workspaces' }, ['/href']],
  ['ref and href together', { op: 'remove', ref: { type: 'teams', id: 'x' }, href: '/api/v2/teams/x' }, ['/href']],
  ['a ref that is not an object', { op: 'remove', ref: 'x' }, ['/ref']],
  ['a ref of an unknown type', { op: 'remove', ref: { type: 'workspaces', id: 'x' } }, ['/ref/type']],
  ['a ref without an id', { op: 'remove', ref: { type: 'teams' } }, ['/ref/id']], // [TEAM-63]
  ['a ref by a lid that is not a string', { op: 'remove', ref: { type: 'teams', lid: notText } }, ['/ref/lid']],
  ['a ref by id and lid', { op: 'remove', ref: { type: 'teams', id: 'x', lid: 'fine' } }, ['/ref/lid']],
  ['an update by id and lid', { op: 'update', data: { type: 'teams', id: 'x', lid: 'fine' } }, ['/data/lid']],
  ['a ref to an unknown lid', { op: 'remove', ref: { type: 'teams', lid: 'x' } }, ['/ref/lid']],
  // [TEAM-63]
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
  ['an update of members', { op: 'update', ref: { type: 'teams', id: 'x', relationship: 'users' }, data: [] }, ['/op']],
  [
    'members that are not an array',
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
    'a relationship by a lid whose type is not a string',
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
  ].map((href) => [`the path '${href}'`, { op: 'remove', href }, ['/href']] as const),
  ['a path that is not a string', { op: 'remove', href: 7 }, ['/href']],
  ['a missing team', { op: 'remove', ref: { type: 'teams', id: 'team-0' } }, [''], 404], // [TEAM-34]
  [
    'a missing organization',
    { op: 'add', data: { ...team, relationships: { organization: toOne('organizations', 'x') } } },
    [''],
    404,
  ],
  [
    'a removal of the owners team',
    ({ teams }: Company) => ({ op: 'remove', ref: { type: 'teams', id: teams.owners } }),
    [''],
    403,
  ],
  [
    'all invalid attributes',
    ({ teams, workspaces }: Company) => ({
      op: 'add',
      data: {
        type: 'team-workspaces',
        attributes: { access: 'read', runs: 'plan', variables: 'x' },
        relationships: { team: toOne('teams', teams.idle), workspace: toOne('workspaces', workspaces.main) },
      },
    }),
    ['/data/attributes/runs', '/data/attributes/variables', '/data/attributes/variables'],
  ],
];

describe('POST /operations rejects', () => {
  // The fake clock does not advance, because background jobs and repeated uses of a token would add commits.
  const api = sharedApi({ clock: createFakeClock() });
  const company = sharedCompany(api);
  const fine = { op: 'add', data: { ...team, lid: 'fine' } };

  for (const [what, operation, pointers, status = 422] of cases) {
    test(what, async () => {
      const { index } = api().state.snapshot;
      const one =
        typeof operation === 'function' ? (operation as (of: Company) => unknown)(company().company) : operation;
      const answer = await sendOperations(api(), company().owner, [fine, one]);
      assert.deepEqual(rejection(answer), [status, ...pointers.map((pointer) => `/atomic:operations/1${pointer}`)]);
      await api().usesWritten();
      assert.equal(api().state.snapshot.index, index, 'nothing was written');
    });
  }

  test('the wrong shapes of all operations at once, before it runs any [TEAM-68]', async () => {
    const list = [{ op: 'remove', ref: { type: 'teams', id: 'x' } }, { op: 'x' }, fine, { op: 'add' }, fine];
    assert.deepEqual(rejection(await sendOperations(api(), company().owner, list)), [
      422,
      '/atomic:operations/1/op',
      '/atomic:operations/3/data',
      '/atomic:operations/4/data/lid',
    ]);
  });

  test('only the first failing operation of the right shape [TEAM-68]', async () => {
    const list = ['x', 'y'].map((id) => ({ op: 'remove', ref: { type: 'teams', id } }));
    assert.deepEqual(rejection(await sendOperations(api(), company().owner, list)), [404, '/atomic:operations/0']);
  });

  test('a list with very many errors, and reports 100 of them [TEAM-32]', async () => {
    const relationships = { ...inAcme, teams: { data: Array.from({ length: 200_000 }, () => 0) } };
    const list = [fine, { op: 'add', data: { type: 'organization-memberships', relationships } }];
    const [status, ...pointers] = rejection(await sendOperations(api(), company().owner, list));
    assert.deepEqual([status, pointers.length], [422, ERRORS_MAX]);
    assert.equal(pointers[0], '/atomic:operations/1/data/relationships/teams/data/0');
  });

  test('a local ID before its declaration [TEAM-66]', async () => {
    const list = [{ op: 'update', ref: { type: 'teams', lid: 'fine' }, data: { type: 'teams' } }, fine];
    assert.deepEqual(rejection(await sendOperations(api(), company().owner, list)), [
      422,
      '/atomic:operations/0/ref/lid',
    ]);
  });

  for (const [body, pointer] of [
    ['', ''],
    ['{', ''],
    ['[]', ''],
    ['{}', '/atomic:operations'],
    ['{"atomic:operations":{}}', '/atomic:operations'],
    ['{"atomic:operations":null}', '/atomic:operations'],
  ] as const) {
    test(`the body '${body}'`, async () => {
      const headers = { 'content-type': OPERATIONS_TYPE };
      const answer = await request(api(), company().owner, 'POST', '/operations', { body, headers });
      assert.deepEqual(rejection(answer), [422, pointer]);
    });
  }

  for (const value of ['false', 'yes', 'True', '1']) {
    test(`?dry-run=${value} [TEAM-87]`, async () => {
      const answer = await sendOperations(api(), company().owner, [fine], { query: `?dry-run=${value}` });
      const error =
        '{"status":"400","title":"bad request","detail":"dry-run must be true, or have no value","source":{"parameter":"dry-run"}}';
      assert.deepEqual(statusAndText(answer), [400, `{"errors":[${error}]}`]);
    });
  }

  test('If-Match [TEAM-73]', async () => {
    for (const tag of ['"x"', '*']) {
      const answer = await sendOperations(api(), company().owner, [fine], { headers: { 'if-match': tag } });
      const detail =
        'If-Match is not supported here: send it when you change or delete one resource, with the ETag of a read';
      assert.deepEqual(statusAndText(answer), [
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
    test(`or accepts Content-Type ${contentType}: ${status} [TEAM-61]`, async () => {
      const answer = await sendOperations(api(), company().owner, [], { headers: { 'content-type': contentType } });
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
    test(`or accepts Accept ${accept}: ${status} [TEAM-61]`, async () => {
      assert.equal((await sendOperations(api(), company().owner, [], { headers: { accept } })).status, status);
    });
  }
});
