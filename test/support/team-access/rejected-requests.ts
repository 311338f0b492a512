/** Requests to `/team-workspaces` that are rejected, with their exact error objects [TEAM-32] to [TEAM-58]. */
import { type Company, rowBody } from './organizations.ts';
import { resource, toOne } from './team-access.ts';

type Json = Readonly<Record<string, unknown>>;

/** A rejected request of the owner of a company. */
export interface RejectedRequest {
  readonly condition: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path?: (company: Company) => string;
  readonly body?: (company: Company) => unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly errors: readonly Json[];
}

const UNKNOWN_IDS = { team: 'team-0000000000000000', workspace: 'ws-0000000000000000', row: 'tws-0000000000000000' };
const COLLECTION = () => '/team-workspaces';
const visibleRowPath = ({ rows }: Company) => `/team-workspaces/${rows.visible}`;
const listPath = (query: string) => (company: Company) =>
  `/team-workspaces?filter[workspace][id]=${company.workspaces.main}&${query}`;

const at = (pointer: string) => ({ source: { pointer } });
const bodyError = (detail: string, pointer: string) => ({ title: 'invalid request body', detail, ...at(pointer) });
export const valueError = (detail: string, pointer: string) => ({ title: 'invalid attribute', detail, ...at(pointer) });
const attributeError = (name: string, detail: string) => valueError(detail, `/data/attributes/${name}`);
const parameterError = (parameter: string, detail: string) => ({
  title: 'invalid attribute',
  detail,
  source: { parameter },
});
const readOnlyDetail = (label: string, level: string) =>
  `${label} is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`;
const NOT_IN_LIST = 'is not included in the list';

/** Returns a valid body of a creation, after `change`. */
const creationBody =
  (change: (data: { attributes: Json; relationships: Json } & Json) => unknown) =>
  ({ teams, workspaces }: Company) =>
    change(rowBody(teams.idle, workspaces.main, { access: 'read' }).data as never);
const withAttributes = (attributes: Json) => creationBody((data) => ({ data: { ...data, attributes } }));
const withMembers = (more: Json) => creationBody((data) => ({ data: { ...data, ...more } }));
const withRelationships = (more: Json) =>
  creationBody((data) => ({ data: { ...data, relationships: { ...data.relationships, ...more } } }));

const INVALID_ATTRIBUTES = {
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
const errorPerAttribute = (detail: (label: string) => string): Json[] =>
  Object.entries(LABELS).map(([name, label]) => attributeError(name, detail(label)));

const post = (condition: string, body: RejectedRequest['body'], errors: readonly Json[]): RejectedRequest => ({
  condition,
  method: 'POST',
  ...(body !== undefined && { body }),
  status: 422,
  errors,
});
const patch = (condition: string, body: RejectedRequest['body'], errors: readonly Json[]): RejectedRequest => ({
  ...post(condition, body, errors),
  method: 'PATCH',
  path: visibleRowPath,
});
const get = (
  condition: string,
  path: RejectedRequest['path'],
  errors: readonly Json[],
  status = 422,
): RejectedRequest => ({
  condition,
  method: 'GET',
  path: path ?? COLLECTION,
  status,
  errors,
});

const BODY_REQUESTS: readonly RejectedRequest[] = [
  post('a body that is not JSON', () => '{', [
    bodyError("json: Expected property name or '}' in JSON at position 1 (line 1 column 2)", ''),
  ]),
  post('a body that is empty', undefined, [bodyError('json: Unexpected end of JSON input', '')]),
  post('a body that is not an object', () => [], [bodyError('want an object', '')]),
  post('a body without data', () => ({}), [bodyError('data is missing', '/data')]),
  post('data that is not an object', () => ({ data: [] }), [bodyError('want an object', '/data')]),
  post('attributes that are not an object', withMembers({ attributes: 'x' }), [
    bodyError('attributes must be an object', '/data/attributes'),
  ]),
  post('relationships that are not an object', withMembers({ relationships: 1 }), [
    bodyError('relationships must be an object', '/data/relationships'),
    valueError('Team must exist', '/data/relationships/team'),
    valueError('Workspace must exist', '/data/relationships/workspace'),
  ]),
  post('no type', withMembers({ type: undefined }), [bodyError('type must be team-workspaces', '/data/type')]),
  post('a wrong type', withMembers({ type: 'teams' }), [bodyError('type must be team-workspaces', '/data/type')]),
  post('an id that is not a string', withMembers({ id: 1 }), [bodyError('id must be a string', '/data/id')]),
  post('no relationships', withMembers({ relationships: {} }), [
    valueError('Team must exist', '/data/relationships/team'),
    valueError('Workspace must exist', '/data/relationships/workspace'),
  ]),
  post('null and empty relationships', withRelationships({ team: { data: null }, workspace: {} }), [
    valueError('Team must exist', '/data/relationships/team'),
    valueError('Workspace must exist', '/data/relationships/workspace'),
  ]),
  post(
    'relationships of wrong types',
    withRelationships({ team: toOne('users', 'x'), workspace: toOne('teams', 'x') }),
    [
      bodyError('type must be teams', '/data/relationships/team/data/type'),
      bodyError('type must be workspaces', '/data/relationships/workspace/data/type'),
    ],
  ),
  post('ids that are not strings', withRelationships({ team: { data: { type: 'teams', id: 7 } } }), [
    bodyError('id must be a string', '/data/relationships/team/data/id'),
  ]),
  post('several faults of the shape', () => ({ data: { type: 'x', id: {}, attributes: [], relationships: {} } }), [
    bodyError('type must be team-workspaces', '/data/type'),
    bodyError('id must be a string', '/data/id'),
    bodyError('attributes must be an object', '/data/attributes'),
    valueError('Team must exist', '/data/relationships/team'),
    valueError('Workspace must exist', '/data/relationships/workspace'),
  ]),
  patch('a wrong type', () => resource('teams', {}), [bodyError('type must be team-workspaces', '/data/type')]),
  patch('an id that is not that of the path', () => ({ data: { id: UNKNOWN_IDS.row } }), [
    bodyError('id is not that of the path', '/data/id'),
  ]),
  patch('another team and workspace', () => rowBody(UNKNOWN_IDS.team, UNKNOWN_IDS.workspace, { access: 'read' }), [
    valueError("Team can't be changed", '/data/relationships/team'),
    valueError("Workspace can't be changed", '/data/relationships/workspace'),
  ]),
];

const VALUE_REQUESTS: readonly RejectedRequest[] = [
  post('no access', withAttributes({}), [attributeError('access', "Access can't be blank")]),
  post('no attributes', withMembers({ attributes: undefined }), [attributeError('access', "Access can't be blank")]),
  post('access that is null', withAttributes({ access: null }), [attributeError('access', "Access can't be blank")]),
  post('an unknown access level', withAttributes({ access: 'owner' }), [
    attributeError('access', `Access ${NOT_IN_LIST}`),
  ]),
  post('access of a wrong type', withAttributes({ access: true }), [attributeError('access', `Access ${NOT_IN_LIST}`)]),
  post(
    'invalid values of all attributes',
    withAttributes({ access: 'custom', ...INVALID_ATTRIBUTES }),
    errorPerAttribute((label) => `${label} ${NOT_IN_LIST}`),
  ),
  post(
    'attributes with a fixed level, even with the values of the level',
    withAttributes({ access: 'read', ...IMPLIED_BY_READ }),
    errorPerAttribute((label) => readOnlyDetail(label, 'read')),
  ),
  post('faults of several kinds', withAttributes({ access: 'write', runs: 'all', 'expires-at': 'soon' }), [
    attributeError('runs', `Runs ${NOT_IN_LIST}`),
    attributeError('runs', readOnlyDetail('Runs', 'write')),
    attributeError('expires-at', 'Expires at must be an RFC 3339 time in the future'),
  ]),
  ...['2020-01-01T00:00:00Z', '2999-01-01', 7, '2999-02-30T00:00:00Z'].map((time) =>
    post(`expires-at ${time}`, withAttributes({ access: 'read', 'expires-at': time }), [
      attributeError('expires-at', 'Expires at must be an RFC 3339 time in the future'),
    ]),
  ),
  patch('access that is null', () => resource('team-workspaces', { access: null }), [
    attributeError('access', "Access can't be blank"),
  ]),
  patch('attributes with the existing fixed level', () => resource('team-workspaces', { runs: 'read' }), [
    attributeError('runs', readOnlyDetail('Runs', 'write')),
  ]),
  post('the owners team', ownersTeamBody(), [
    valueError('Team must not be owners, which has admin access to every workspace', '/data/relationships/team'),
  ]),
];

function ownersTeamBody(): RejectedRequest['body'] {
  return ({ teams, workspaces }) => rowBody(teams.owners, workspaces.main, { access: 'read' });
}

const QUERY_REQUESTS: readonly RejectedRequest[] = [
  get('a list without a workspace', COLLECTION, [
    parameterError('filter[workspace][id]', "filter[workspace][id] can't be blank"),
  ]),
  get('a list with every fault', () => '/team-workspaces?page[size]=101&page[number]=0', [
    parameterError('filter[workspace][id]', "filter[workspace][id] can't be blank"),
    parameterError('page[number]', 'page[number] must be a whole number from 1'),
    parameterError('page[size]', 'page[size] must be between 1 and 100'),
  ]),
  ...['0', '101', '-1', '1.5', 'x', ''].map((size) =>
    get(`pages of ${size}`, listPath(`page[size]=${size}`), [
      parameterError('page[size]', 'page[size] must be between 1 and 100'),
    ]),
  ),
  ...([listPath('include=team,users'), (company: Company) => `${visibleRowPath(company)}?include=row`] as const).map(
    (path) =>
      get(
        'an unknown include',
        path,
        [
          {
            title: 'bad request',
            detail: 'Invalid include parameter',
            source: { parameter: 'include' },
            meta: { known: 'team, workspace' },
          },
        ],
        400,
      ),
  ),
];

const NOT_FOUND_ERRORS = [{ title: 'not found' }];
const OTHER_REQUESTS: readonly RejectedRequest[] = [
  get('a missing row', () => `/team-workspaces/${UNKNOWN_IDS.row}`, NOT_FOUND_ERRORS, 404),
  get('an unknown path', () => '/team-workspaces/a/b', NOT_FOUND_ERRORS, 404),
  get(
    'the rows of a missing workspace',
    () => `/team-workspaces?filter[workspace][id]=${UNKNOWN_IDS.workspace}`,
    NOT_FOUND_ERRORS,
    404,
  ),
  get('the rows of a missing team', () => `/teams/${UNKNOWN_IDS.team}/team-workspaces`, NOT_FOUND_ERRORS, 404),
  {
    ...post('a missing team', withRelationships({ team: toOne('teams', UNKNOWN_IDS.team) }), NOT_FOUND_ERRORS),
    status: 404,
  },
  {
    ...post(
      'a missing workspace, before invalid attributes',
      () => rowBody('x', UNKNOWN_IDS.workspace, {}),
      NOT_FOUND_ERRORS,
    ),
    status: 404,
  },
  {
    condition: 'a missing row',
    method: 'DELETE',
    path: () => `/team-workspaces/${UNKNOWN_IDS.row}`,
    status: 404,
    errors: NOT_FOUND_ERRORS,
  },
  ...(['POST', 'PATCH'] as const).map(
    (method): RejectedRequest => ({
      condition: 'another content type',
      method,
      path: method === 'POST' ? COLLECTION : visibleRowPath,
      body: () => ({}),
      headers: { 'content-type': 'application/json' },
      status: 415,
      errors: [{ title: 'invalid content type', detail: 'content-type must be application/vnd.api+json' }],
    }),
  ),
  {
    ...get('an Accept that excludes JSON:API', visibleRowPath, [
      { title: 'not acceptable', detail: 'the answer is application/vnd.api+json' },
    ]),
    headers: { accept: 'text/html' },
    status: 406,
  },
  {
    condition: 'an If-Match that does not match',
    method: 'DELETE',
    path: visibleRowPath,
    headers: { 'if-match': '"old"' },
    status: 412,
    errors: [{ title: 'precondition failed', detail: 'If-Match does not name the current state' }],
  },
  {
    ...patch(
      'invalid attributes before an If-Match that does not match',
      () => resource('team-workspaces', { runs: 'x' }),
      [attributeError('runs', `Runs ${NOT_IN_LIST}`), attributeError('runs', readOnlyDetail('Runs', 'write'))],
    ),
    headers: { 'if-match': '"old"' },
  },
];

/** Every case that needs only a company. */
export const REJECTED_REQUESTS: readonly RejectedRequest[] = [
  ...BODY_REQUESTS,
  ...VALUE_REQUESTS,
  ...QUERY_REQUESTS,
  ...OTHER_REQUESTS,
];
