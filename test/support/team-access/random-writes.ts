/**
 * Sends random JSON:API documents, most of them nearly valid, to every write of team access except those of rows and
 * bulk requests. Checks that no response is 5xx and that rejected requests make no commit.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { users } from '../../../src/credentials/user.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import type { State } from '../../../src/state/state.ts';
import { auditTrails } from '../../../src/team-access/audit.ts';
import { ORGANIZATION_PERMISSIONS } from '../../../src/team-access/tables/organization-access.ts';
import { memberships } from '../../../src/team-access/tables/organization-membership.ts';
import { createFakeClock } from '../fake-clock.ts';
import { type Api, startApi } from '../process/api.ts';
import { CALLERS, type CallerKind, type Company, makeCompany } from './organizations.ts';
import { request } from './team-access.ts';

const SEED = 20_260_131;

/** Generates `usual` `times` times as often as `unusual`, because the server reports only the first of many faults. */
export const mostly = <T, U>(usual: fc.Arbitrary<T>, unusual: fc.Arbitrary<U>, times = 8): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: times, arbitrary: usual }, { weight: 1, arbitrary: unusual });

/** Random JSON values, and values that have caused faults in other programs. */
export const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, '', '__proto__', 'constructor', '\u0000', '\ud800', 'x'.repeat(2_000)),
);
const name = mostly(
  fc.stringMatching(/^[a-z0-9_-]{1,12}$/),
  fc.constantFrom('acme', 'visible', 'owners', 'main', 'x y'),
);
const email = mostly(
  fc.stringMatching(/^[a-z]{1,6}@[a-z]{1,6}$/),
  fc.constantFrom('acme-idle@example.org', '@', 'a@b@c'),
);
const text = fc.string({ maxLength: 20 });
const time = fc.constantFrom('2999-01-01T00:00:00Z', '2999-02-30T00:00:00Z', '1999-01-01T00:00:00Z', null);
const flags = (names: readonly string[]) => fc.dictionary(fc.constantFrom(...names), mostly(fc.boolean(), anyJson));

const ORGANIZATION_ATTRIBUTES = {
  name,
  email,
  'session-timeout': mostly(fc.constantFrom(20_160, null), fc.nat()),
  'cost-estimation-enabled': fc.boolean(),
  'collaborator-auth-policy': mostly(fc.constant('password'), text),
};
const TEAM_ATTRIBUTES = {
  name,
  description: text,
  visibility: fc.constantFrom('secret', 'organization'),
  'sso-team-id': fc.constant(null),
  'allow-member-token-management': fc.boolean(),
  'organization-access': flags([...ORGANIZATION_PERMISSIONS, '__proto__', 'unknown']),
};
const WORKSPACE_ATTRIBUTES = {
  name,
  description: text,
  'auto-apply': fc.boolean(),
  'trigger-prefixes': fc.array(text, { maxLength: 3 }),
  'setting-overwrites': flags(['execution-mode', 'agent-pool', '__proto__']),
};
const TOKEN_ATTRIBUTES = { description: text, 'expired-at': time };
const USER_ATTRIBUTES = { username: name, email, 'is-site-admin': fc.boolean() };
const MEMBERSHIP_ATTRIBUTES = { email };

/** An endpoint that writes, with the content of its documents. */
interface RandomWrite {
  readonly endpoint: string;
  readonly type: string;
  readonly attributes?: Readonly<Record<string, fc.Arbitrary<unknown>>>;
  /** The required attributes, which every generated document has. */
  readonly required?: readonly string[];
  /** The types of relationships by name. The prefix `[]` marks a to-many relationship. */
  readonly related?: Readonly<Record<string, string>>;
  /** Whether `data` is an array of identifiers. */
  readonly identifiersOnly?: true;
  /** The caller of most requests, the owner by default. */
  readonly usualCaller?: CallerKind;
}

/** All of these writes. random-writes.test.ts checks that none is missing. */
export const RANDOM_WRITES: readonly RandomWrite[] = [
  {
    endpoint: 'POST /admin/users',
    type: 'users',
    attributes: USER_ATTRIBUTES,
    required: ['username', 'email'],
    usualCaller: 'site-admin',
  },
  {
    endpoint: 'POST /organizations',
    type: 'organizations',
    attributes: ORGANIZATION_ATTRIBUTES,
    required: ['name', 'email'],
  },
  { endpoint: 'PATCH /organizations/:name', type: 'organizations', attributes: ORGANIZATION_ATTRIBUTES },
  { endpoint: 'POST /organizations/:name/teams', type: 'teams', attributes: TEAM_ATTRIBUTES, required: ['name'] },
  { endpoint: 'PATCH /teams/:id', type: 'teams', attributes: TEAM_ATTRIBUTES },
  ...(['users', 'organization-memberships'] as const).flatMap((type) =>
    (['POST', 'DELETE'] as const).map(
      (method): RandomWrite => ({
        endpoint: `${method} /teams/:id/relationships/${type}`,
        type,
        identifiersOnly: true,
      }),
    ),
  ),
  {
    endpoint: 'POST /organizations/:name/organization-memberships',
    type: 'organization-memberships',
    attributes: MEMBERSHIP_ATTRIBUTES,
    required: ['email'],
    related: { teams: '[]teams' },
  },
  {
    endpoint: 'POST /organizations/:name/workspaces',
    type: 'workspaces',
    attributes: WORKSPACE_ATTRIBUTES,
    required: ['name'],
    related: { project: 'projects' },
  },
  ...['PATCH /organizations/:name/workspaces/:workspace', 'PATCH /workspaces/:id'].map(
    (endpoint): RandomWrite => ({
      endpoint,
      type: 'workspaces',
      attributes: WORKSPACE_ATTRIBUTES,
      related: { project: 'projects' },
    }),
  ),
  ...[
    'POST /organizations/:name/authentication-token',
    'POST /teams/:id/authentication-token',
    'POST /teams/:id/authentication-tokens',
    'POST /users/:id/authentication-tokens',
  ].map((endpoint): RandomWrite => ({ endpoint, type: 'authentication-tokens', attributes: TOKEN_ATTRIBUTES })),
];

interface RandomRequest {
  readonly caller: CallerKind;
  readonly path: string;
  readonly body: string;
}

/** Existing IDs and names by the type of the resource. */
type Ids = Readonly<Record<string, readonly string[]>>;

function knownIds({ state }: Api, { teams, workspaces, name: organization }: Company): Ids {
  const { snapshot } = state;
  return {
    organizations: [organization],
    teams: Object.values(teams),
    workspaces: [...Object.values(workspaces)],
    users: snapshot.all(users).map(({ row }) => row.username),
    'organization-memberships': snapshot.all(memberships).map(({ row }) => row.id),
    projects: ['prj-0000000000000000'],
  };
}

function documents(write: RandomWrite, ids: Ids, owner: string): fc.Arbitrary<RandomRequest> {
  const [method = '', pattern = ''] = write.endpoint.split(' ');
  const segments = pattern.split('/').map((segment, i, all) => {
    if (!segment.startsWith(':')) return fc.constant(segment);
    if (segment === ':workspace')
      return mostly(fc.constantFrom('main', 'other'), fc.constantFrom('%00', '%ff', '*'), 12);
    const kind = all[i - 1] ?? '';
    const known = kind === 'users' ? [owner] : (ids[kind] ?? []);
    return mostly(fc.constantFrom(...known), fc.constantFrom('x', '%00', '..', '%ff', '*'), 12);
  });
  const identifier = (type: string) =>
    mostly(
      fc.record({
        type: mostly(fc.constant(type), anyJson, 12),
        id: mostly(fc.constantFrom(...(ids[type] ?? ['x'])), anyJson, 12),
      }),
      anyJson,
      12,
    );
  const relationships = fc.record(
    Object.fromEntries(
      Object.entries(write.related ?? {}).map(([related, type]) => [
        related,
        mostly(
          fc.record({
            data: type.startsWith('[]')
              ? mostly(fc.array(identifier(type.slice(2)), { maxLength: 2 }), anyJson)
              : identifier(type),
          }),
          anyJson,
        ),
      ]),
    ),
    { requiredKeys: [] },
  );
  const attributes = fc.record(
    Object.fromEntries(
      Object.entries(write.attributes ?? {}).map(([attribute, value]) => [attribute, mostly(value, anyJson, 16)]),
    ),
    { requiredKeys: [...(write.required ?? [])] },
  );
  const data =
    write.identifiersOnly === true
      ? mostly(fc.array(identifier(write.type), { maxLength: 3 }), anyJson, 12)
      : fc.record(
          {
            type: mostly(fc.constant(write.type), anyJson, 12),
            id: mostly(fc.constant(undefined), anyJson, 12),
            attributes: mostly(attributes, anyJson, 12),
            relationships: mostly(fc.constant(undefined), mostly(relationships, anyJson), 2),
          },
          { requiredKeys: method === 'POST' ? ['type', 'attributes'] : [] },
        );
  const body = mostly(
    mostly(fc.record({ data }), anyJson, 12).map((value) => JSON.stringify(value)),
    fc.tuple(fc.json(), fc.nat(40)).map(([json, cut]) => json.slice(0, cut)),
    20,
  );
  return fc.record({
    caller: mostly(fc.constant(write.usualCaller ?? 'owner'), fc.constantFrom(...CALLERS), 3),
    path: fc.tuple(...segments).map((all) => all.join('/')),
    body,
  }) as fc.Arbitrary<RandomRequest>;
}

/** Sends `count` requests to each endpoint. @returns the number of responses with each status, by endpoint */
export async function sendRandomWrites(count: number): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
  // With a fake clock, each token records its use once.
  await using api = await startApi({ clock: createFakeClock() });
  const company = await makeCompany(api.state, 'acme');
  for (const caller of CALLERS) await request(api, company.tokens[caller], 'GET', '/account/details');
  const owner = (await request(api, company.tokens.owner, 'GET', '/account/details')).json<{ data: { id: string } }>();
  await api.usesWritten();
  const countsByEndpoint = new Map<string, Map<number, number>>();
  for (const write of RANDOM_WRITES) {
    const statuses = new Map<number, number>();
    countsByEndpoint.set(write.endpoint, statuses);
    const sent = documents(write, knownIds(api, company), owner.data.id);
    await fc.assert(
      fc.asyncProperty(sent, async (one) => {
        const status = await sendOne(api, company, write.endpoint.split(' ')[0] ?? '', one);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }),
      { numRuns: count, seed: SEED },
    );
  }
  const problems = api.log().match(/.*"level":"(error|warn|fatal)".*/g) ?? [];
  assert.deepEqual(problems, []);
  return countsByEndpoint;
}

async function sendOne(
  api: Api,
  company: Company,
  method: string,
  { caller, path, body }: RandomRequest,
): Promise<number> {
  const before = api.state.snapshot;
  const answer = await request(api, company.tokens[caller], method, path, { body });
  assert.ok(answer.status < 500, `${answer.status} ${answer.text}`);
  if (answer.status >= 400) {
    assert.equal(api.state.snapshot.index, before.index, answer.text);
    const { errors } = answer.json<{ errors: readonly Record<string, unknown>[] }>();
    assert.ok(errors.length > 0 && errors.every(({ status }) => status === String(answer.status)), answer.text);
  } else await restoreSnapshot(api.state, before);
  return answer.status;
}

/** Reverts a write, so that every document finds the same state. */
async function restoreSnapshot(state: State, before: Snapshot): Promise<void> {
  const now = state.snapshot;
  const changed = state.schema.tables.filter(
    (table) => !table.storeOnly && table !== auditTrails && before.tables.get(table) !== now.tables.get(table),
  );
  await state.write((tx) => {
    for (const table of changed) {
      const previous = new Map(before.all(table).map((stored) => [table.key(stored.row), stored]));
      for (const { row } of now.all(table)) if (!previous.has(table.key(row))) tx.delete(table, table.key(row));
      for (const [key, stored] of previous) if (now.get(table, key) !== stored) tx.put(table, stored.row);
    }
  });
}
