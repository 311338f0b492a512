/** What `/team-workspaces` refuses, as data: every row of the table of errors with its exact error objects. */
import { type Company, rowBody } from './organizations.ts';
import { resource, to } from './team-access.ts';

type Json = Readonly<Record<string, unknown>>;

/** A request to `/team-workspaces` that is refused, by the owner of a company, with its exact errors. */
export interface RefusedRequest {
  readonly what: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path?: (company: Company) => string;
  readonly body?: (company: Company) => unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly errors: readonly Json[];
}

const UNKNOWN = { team: 'team-0000000000000000', workspace: 'ws-0000000000000000', row: 'tws-0000000000000000' };
/** Where rows are made. */
const COLLECTION = () => '/team-workspaces';
const visibleRow = ({ rows }: Company) => `/team-workspaces/${rows.visible}`;
const list = (query: string) => (company: Company) =>
  `/team-workspaces?filter[workspace][id]=${company.workspaces.main}&${query}`;

const at = (pointer: string) => ({ source: { pointer } });
const badBody = (detail: string, pointer: string) => ({ title: 'invalid request body', detail, ...at(pointer) });
/** An error object of a value. */
export const badValue = (detail: string, pointer: string) => ({ title: 'invalid attribute', detail, ...at(pointer) });
const badAttribute = (name: string, detail: string) => badValue(detail, `/data/attributes/${name}`);
const badParameter = (parameter: string, detail: string) => ({
  title: 'invalid attribute',
  detail,
  source: { parameter },
});
const readOnly = (label: string, level: string) =>
  `${label} is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`;
const NOT_IN_LIST = 'is not included in the list';

/** A body that makes a row which is not there, changed. */
const making =
  (change: (data: { attributes: Json; relationships: Json } & Json) => unknown) =>
  ({ teams, workspaces }: Company) =>
    change(rowBody(teams.idle, workspaces.main, { access: 'read' }).data as never);
const withAttributes = (attributes: Json) => making((data) => ({ data: { ...data, attributes } }));
const withData = (more: Json) => making((data) => ({ data: { ...data, ...more } }));
const linking = (more: Json) =>
  making((data) => ({ data: { ...data, relationships: { ...data.relationships, ...more } } }));

const ALL_WRONG = {
  runs: 'all',
  variables: true,
  'state-versions': 7,
  'policy-mocks': [],
  'workspace-locking': 'true',
  'run-tasks': {},
};
const LABELS: Readonly<Record<string, string>> = {
  runs: 'Runs',
  variables: 'Variables',
  'state-versions': 'State versions',
  'policy-mocks': 'Policy mocks',
  'workspace-locking': 'Workspace locking',
  'run-tasks': 'Run tasks',
};
const IMPLIED_BY_READ = {
  runs: 'read',
  variables: 'read',
  'state-versions': 'read',
  'policy-mocks': 'none',
  'workspace-locking': false,
  'run-tasks': false,
};
const each = (detail: (label: string) => string): Json[] =>
  Object.entries(LABELS).map(([name, label]) => badAttribute(name, detail(label)));

const post = (what: string, body: RefusedRequest['body'], errors: readonly Json[]): RefusedRequest => ({
  what,
  method: 'POST',
  ...(body !== undefined && { body }),
  status: 422,
  errors,
});
const patch = (what: string, body: RefusedRequest['body'], errors: readonly Json[]): RefusedRequest => ({
  ...post(what, body, errors),
  method: 'PATCH',
  path: visibleRow,
});
const get = (what: string, path: RefusedRequest['path'], errors: readonly Json[], status = 422): RefusedRequest => ({
  what,
  method: 'GET',
  path: path ?? COLLECTION,
  status,
  errors,
});

const OF_BODIES: readonly RefusedRequest[] = [
  post('a body that is not JSON', () => '{', [
    badBody("json: Expected property name or '}' in JSON at position 1 (line 1 column 2)", ''),
  ]),
  post('a body that is empty', undefined, [badBody('json: Unexpected end of JSON input', '')]),
  post('a body that is not an object', () => [], [badBody('want an object', '')]),
  post('a body without data', () => ({}), [badBody('data is missing', '/data')]),
  post('data that is not an object', () => ({ data: [] }), [badBody('want an object', '/data')]),
  post('attributes that are not an object', withData({ attributes: 'x' }), [
    badBody('attributes must be an object', '/data/attributes'),
  ]),
  post('relationships that are not an object', withData({ relationships: 1 }), [
    badBody('relationships must be an object', '/data/relationships'),
    badValue('Team must exist', '/data/relationships/team'),
    badValue('Workspace must exist', '/data/relationships/workspace'),
  ]),
  post('no type', withData({ type: undefined }), [badBody('type must be team-workspaces', '/data/type')]),
  post('a wrong type', withData({ type: 'teams' }), [badBody('type must be team-workspaces', '/data/type')]),
  post('an id that is not a string', withData({ id: 1 }), [badBody('id must be a string', '/data/id')]),
  post('no relationships', withData({ relationships: {} }), [
    badValue('Team must exist', '/data/relationships/team'),
    badValue('Workspace must exist', '/data/relationships/workspace'),
  ]),
  post('relationships to nothing', linking({ team: { data: null }, workspace: {} }), [
    badValue('Team must exist', '/data/relationships/team'),
    badValue('Workspace must exist', '/data/relationships/workspace'),
  ]),
  post('relationships of wrong types', linking({ team: to('users', 'x'), workspace: to('teams', 'x') }), [
    badBody('type must be teams', '/data/relationships/team/data/type'),
    badBody('type must be workspaces', '/data/relationships/workspace/data/type'),
  ]),
  post('ids that are not strings', linking({ team: { data: { type: 'teams', id: 7 } } }), [
    badBody('id must be a string', '/data/relationships/team/data/id'),
  ]),
  post('all that is wrong with its shape', () => ({ data: { type: 'x', id: {}, attributes: [], relationships: {} } }), [
    badBody('type must be team-workspaces', '/data/type'),
    badBody('id must be a string', '/data/id'),
    badBody('attributes must be an object', '/data/attributes'),
    badValue('Team must exist', '/data/relationships/team'),
    badValue('Workspace must exist', '/data/relationships/workspace'),
  ]),
  patch('a wrong type', () => resource('teams', {}), [badBody('type must be team-workspaces', '/data/type')]),
  patch('an id that is not that of the path', () => ({ data: { id: UNKNOWN.row } }), [
    badBody('id is not that of the path', '/data/id'),
  ]),
  patch('another team and workspace', () => rowBody(UNKNOWN.team, UNKNOWN.workspace, { access: 'read' }), [
    badValue("Team can't be changed", '/data/relationships/team'),
    badValue("Workspace can't be changed", '/data/relationships/workspace'),
  ]),
];

const OF_VALUES: readonly RefusedRequest[] = [
  post('no access', withAttributes({}), [badAttribute('access', "Access can't be blank")]),
  post('no attributes', withData({ attributes: undefined }), [badAttribute('access', "Access can't be blank")]),
  post('access that is null', withAttributes({ access: null }), [badAttribute('access', "Access can't be blank")]),
  post('access that is no level', withAttributes({ access: 'owner' }), [
    badAttribute('access', `Access ${NOT_IN_LIST}`),
  ]),
  post('access of a wrong type', withAttributes({ access: true }), [badAttribute('access', `Access ${NOT_IN_LIST}`)]),
  post(
    'wrong values of all attributes',
    withAttributes({ access: 'custom', ...ALL_WRONG }),
    each((label) => `${label} ${NOT_IN_LIST}`),
  ),
  post(
    'attributes on a fixed level, though they are those that it implies',
    withAttributes({ access: 'read', ...IMPLIED_BY_READ }),
    each((label) => readOnly(label, 'read')),
  ),
  post('faults of several kinds', withAttributes({ access: 'write', runs: 'all', 'expires-at': 'soon' }), [
    badAttribute('runs', `Runs ${NOT_IN_LIST}`),
    badAttribute('runs', readOnly('Runs', 'write')),
    badAttribute('expires-at', 'Expires at must be a time in the future, as RFC 3339 writes it'),
  ]),
  ...['2020-01-01T00:00:00Z', '2999-01-01', 7, '2999-02-30T00:00:00Z'].map((time) =>
    post(`an end at ${time}`, withAttributes({ access: 'read', 'expires-at': time }), [
      badAttribute('expires-at', 'Expires at must be a time in the future, as RFC 3339 writes it'),
    ]),
  ),
  patch('access that is null', () => resource('team-workspaces', { access: null }), [
    badAttribute('access', "Access can't be blank"),
  ]),
  patch('attributes on the level as it stands', () => resource('team-workspaces', { runs: 'read' }), [
    badAttribute('runs', readOnly('Runs', 'write')),
  ]),
  post('the owners team', linkingOwners(), [
    badValue('Team must not be owners, which has admin access to every workspace', '/data/relationships/team'),
  ]),
];

function linkingOwners(): RefusedRequest['body'] {
  return ({ teams, workspaces }) => rowBody(teams.owners, workspaces.main, { access: 'read' });
}

const OF_QUERIES: readonly RefusedRequest[] = [
  get('a list without a workspace', COLLECTION, [
    badParameter('filter[workspace][id]', "filter[workspace][id] can't be blank"),
  ]),
  get('a list with every fault', () => '/team-workspaces?page[size]=101&page[number]=0', [
    badParameter('filter[workspace][id]', "filter[workspace][id] can't be blank"),
    badParameter('page[number]', 'page[number] must be a whole number from 1'),
    badParameter('page[size]', 'page[size] must be between 1 and 100'),
  ]),
  ...['0', '101', '-1', '1.5', 'x', ''].map((size) =>
    get(`pages of ${size}`, list(`page[size]=${size}`), [
      badParameter('page[size]', 'page[size] must be between 1 and 100'),
    ]),
  ),
  ...([list('include=team,users'), (company: Company) => `${visibleRow(company)}?include=row`] as const).map((path) =>
    get(
      'an unknown include',
      path,
      [{ title: 'bad request', detail: 'Invalid include parameter', source: { parameter: 'include' } }],
      400,
    ),
  ),
];

const NOT_THERE = [{ title: 'not found' }];
const OTHERS: readonly RefusedRequest[] = [
  get('a row that is not there', () => `/team-workspaces/${UNKNOWN.row}`, NOT_THERE, 404),
  get('a path that is not there', () => '/team-workspaces/a/b', NOT_THERE, 404),
  get('the rows of no workspace', () => `/team-workspaces?filter[workspace][id]=${UNKNOWN.workspace}`, NOT_THERE, 404),
  get('the rows of no team', () => `/teams/${UNKNOWN.team}/team-workspaces`, NOT_THERE, 404),
  {
    ...post('a team that is not there', linking({ team: to('teams', UNKNOWN.team) }), NOT_THERE),
    status: 404,
  },
  {
    ...post(
      'a workspace that is not there, before its attributes',
      () => rowBody('x', UNKNOWN.workspace, {}),
      NOT_THERE,
    ),
    status: 404,
  },
  {
    what: 'a row that is not there',
    method: 'DELETE',
    path: () => `/team-workspaces/${UNKNOWN.row}`,
    status: 404,
    errors: NOT_THERE,
  },
  ...(['POST', 'PATCH'] as const).map(
    (method): RefusedRequest => ({
      what: 'another content type',
      method,
      path: method === 'POST' ? COLLECTION : visibleRow,
      body: () => ({}),
      headers: { 'content-type': 'application/json' },
      status: 415,
      errors: [{ title: 'invalid content type', detail: 'content-type must be application/vnd.api+json' }],
    }),
  ),
  {
    ...get('an Accept that rules JSON:API out', visibleRow, [
      { title: 'not acceptable', detail: 'the answer is application/vnd.api+json' },
    ]),
    headers: { accept: 'text/html' },
    status: 406,
  },
  {
    what: 'a state that is not there any more',
    method: 'DELETE',
    path: visibleRow,
    headers: { 'if-match': '"old"' },
    status: 412,
    errors: [{ title: 'precondition failed', detail: 'If-Match does not name the current state' }],
  },
  {
    ...patch(
      'a state that is not there any more, after its attributes',
      () => resource('team-workspaces', { runs: 'x' }),
      [badAttribute('runs', `Runs ${NOT_IN_LIST}`), badAttribute('runs', readOnly('Runs', 'write'))],
    ),
    headers: { 'if-match': '"old"' },
  },
];

/** Every case that needs nothing but a company. */
export const REFUSED_REQUESTS: readonly RefusedRequest[] = [...OF_BODIES, ...OF_VALUES, ...OF_QUERIES, ...OTHERS];
