/**
 * Random JSON:API documents for every write of team access but those of rows, which have their own: almost right, or not
 * at all. Whatever comes is answered, never with a fault of the server, and what is refused makes no commit.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { users } from '../../../src/credentials/user.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import type { State } from '../../../src/state/state.ts';
import { auditTrails } from '../../../src/team-access/audit/trail.ts';
import { ORGANIZATION_PERMISSIONS } from '../../../src/team-access/tables/organization-access.ts';
import { memberships } from '../../../src/team-access/tables/organization-membership.ts';
import { createFakeClock } from '../fake-clock.ts';
import { type Api, startApi } from '../process/api.ts';
import { CALLERS, type CallerKind, type Company, makeCompany } from './organizations.ts';
import { request } from './team-access.ts';

const SEED = 20_260_131;

/** `usual` most of the time: a document with five faults tells only of the first step. */
const mostly = <T, U>(usual: fc.Arbitrary<T>, unusual: fc.Arbitrary<U>, times = 8): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: times, arbitrary: usual }, { weight: 1, arbitrary: unusual });

const anything = fc.oneof(
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
const flags = (names: readonly string[]) => fc.dictionary(fc.constantFrom(...names), mostly(fc.boolean(), anything));

const OF_ORGANIZATION = {
  name,
  email,
  'session-timeout': fc.nat(),
  'cost-estimation-enabled': fc.boolean(),
  'collaborator-auth-policy': text,
};
const OF_TEAM = {
  name,
  description: text,
  visibility: fc.constantFrom('secret', 'organization'),
  'sso-team-id': fc.constant(null),
  'allow-member-token-management': fc.boolean(),
  'organization-access': flags([...ORGANIZATION_PERMISSIONS, '__proto__', 'unknown']),
};
const OF_WORKSPACE = {
  name,
  description: text,
  'auto-apply': fc.boolean(),
  'trigger-prefixes': fc.array(text, { maxLength: 3 }),
  'setting-overwrites': flags(['execution-mode', 'agent-pool', '__proto__']),
};
const OF_TOKEN = { description: text, 'expired-at': time };
const OF_USER = { username: name, email, 'is-site-admin': fc.boolean() };
const OF_MEMBERSHIP = { email };

/** A write with what its documents are made of; `:name` in the path stands for ids. */
interface RandomWrite {
  readonly endpoint: string;
  readonly type: string;
  readonly attributes?: Readonly<Record<string, fc.Arbitrary<unknown>>>;
  /** Must be there, mostly, for anything to come of it. */
  readonly required?: readonly string[];
  /** To one, by the name of the relationship; `[]` before the type: to many. */
  readonly related?: Readonly<Record<string, string>>;
  /** The body names resources instead: `{"data": [{"type", "id"}, …]}`. */
  readonly names?: true;
  /** Who asks, mostly; owners unless given. */
  readonly by?: CallerKind;
}

/** Every one, and the tests know that it is every one. */
export const RANDOM_WRITES: readonly RandomWrite[] = [
  {
    endpoint: 'POST /admin/users',
    type: 'users',
    attributes: OF_USER,
    required: ['username', 'email'],
    by: 'site-admin',
  },
  { endpoint: 'POST /organizations', type: 'organizations', attributes: OF_ORGANIZATION, required: ['name', 'email'] },
  { endpoint: 'PATCH /organizations/:name', type: 'organizations', attributes: OF_ORGANIZATION },
  { endpoint: 'POST /organizations/:name/teams', type: 'teams', attributes: OF_TEAM, required: ['name'] },
  { endpoint: 'PATCH /teams/:id', type: 'teams', attributes: OF_TEAM },
  ...(['users', 'organization-memberships'] as const).flatMap((type) =>
    (['POST', 'DELETE'] as const).map(
      (method): RandomWrite => ({ endpoint: `${method} /teams/:id/relationships/${type}`, type, names: true }),
    ),
  ),
  {
    endpoint: 'POST /organizations/:name/organization-memberships',
    type: 'organization-memberships',
    attributes: OF_MEMBERSHIP,
    required: ['email'],
    related: { teams: '[]teams' },
  },
  {
    endpoint: 'POST /organizations/:name/workspaces',
    type: 'workspaces',
    attributes: OF_WORKSPACE,
    required: ['name'],
    related: { project: 'projects' },
  },
  ...['PATCH /organizations/:name/workspaces/:workspace', 'PATCH /workspaces/:id'].map(
    (endpoint): RandomWrite => ({
      endpoint,
      type: 'workspaces',
      attributes: OF_WORKSPACE,
      related: { project: 'projects' },
    }),
  ),
  ...[
    'POST /organizations/:name/authentication-token',
    'POST /teams/:id/authentication-token',
    'POST /teams/:id/authentication-tokens',
    'POST /users/:id/authentication-tokens',
  ].map((endpoint): RandomWrite => ({ endpoint, type: 'authentication-tokens', attributes: OF_TOKEN })),
];

interface Sent {
  readonly caller: CallerKind;
  readonly path: string;
  readonly body: string;
}

/** Ids by what stands before them in paths, or is named by relationships. */
type Ids = Readonly<Record<string, readonly string[]>>;

function idsOf({ state }: Api, { teams, workspaces, name: organization }: Company): Ids {
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

function documents(write: RandomWrite, ids: Ids, owner: string): fc.Arbitrary<Sent> {
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
        type: mostly(fc.constant(type), anything, 12),
        id: mostly(fc.constantFrom(...(ids[type] ?? ['x'])), anything, 12),
      }),
      anything,
      12,
    );
  const relationships = fc.record(
    Object.fromEntries(
      Object.entries(write.related ?? {}).map(([related, type]) => [
        related,
        mostly(
          fc.record({
            data: type.startsWith('[]')
              ? mostly(fc.array(identifier(type.slice(2)), { maxLength: 2 }), anything)
              : identifier(type),
          }),
          anything,
        ),
      ]),
    ),
    { requiredKeys: [] },
  );
  const attributes = fc.record(
    Object.fromEntries(
      Object.entries(write.attributes ?? {}).map(([attribute, value]) => [attribute, mostly(value, anything, 16)]),
    ),
    { requiredKeys: [...(write.required ?? [])] },
  );
  const data =
    write.names === true
      ? mostly(fc.array(identifier(write.type), { maxLength: 3 }), anything, 12)
      : fc.record(
          {
            type: mostly(fc.constant(write.type), anything, 12),
            id: mostly(fc.constant(undefined), anything, 12),
            attributes: mostly(attributes, anything, 12),
            relationships: mostly(fc.constant(undefined), mostly(relationships, anything), 2),
          },
          { requiredKeys: method === 'POST' ? ['type', 'attributes'] : [] },
        );
  const body = mostly(
    mostly(fc.record({ data }), anything, 12).map((value) => JSON.stringify(value)),
    fc.tuple(fc.json(), fc.nat(40)).map(([json, cut]) => json.slice(0, cut)),
    20,
  );
  return fc.record({
    caller: mostly(fc.constant(write.by ?? 'owner'), fc.constantFrom(...CALLERS), 3),
    path: fc.tuple(...segments).map((all) => all.join('/')),
    body,
  }) as fc.Arbitrary<Sent>;
}

/** Sends so many to each write. @returns how often each status was met, by endpoint */
export async function sendRandomWrites(count: number): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
  // Held, so that the use of a token is written down once.
  await using api = await startApi({ clock: createFakeClock() });
  const company = await makeCompany(api.state, 'acme');
  for (const caller of CALLERS) await request(api, company.tokens[caller], 'GET', '/account/details');
  const owner = (await request(api, company.tokens.owner, 'GET', '/account/details')).json<{ data: { id: string } }>();
  await api.usesWritten();
  const met = new Map<string, Map<number, number>>();
  for (const write of RANDOM_WRITES) {
    const statuses = new Map<number, number>();
    met.set(write.endpoint, statuses);
    const sent = documents(write, idsOf(api, company), owner.data.id);
    await fc.assert(
      fc.asyncProperty(sent, async (one) => {
        const status = await sendOne(api, company, write.endpoint.split(' ')[0] ?? '', one);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }),
      { numRuns: count, seed: SEED },
    );
  }
  const complaints = api.log().match(/.*"level":"(error|warn|fatal)".*/g) ?? [];
  assert.deepEqual(complaints, []);
  return met;
}

async function sendOne(api: Api, company: Company, method: string, { caller, path, body }: Sent): Promise<number> {
  const before = api.state.snapshot;
  const answer = await request(api, company.tokens[caller], method, path, { body });
  assert.ok(answer.status < 500, `${answer.status} ${answer.text}`);
  if (answer.status >= 400) {
    assert.equal(api.state.snapshot.index, before.index, answer.text);
    const { errors } = answer.json<{ errors: readonly Record<string, unknown>[] }>();
    assert.ok(errors.length > 0 && errors.every(({ status }) => status === String(answer.status)), answer.text);
  } else await restore(api.state, before);
  return answer.status;
}

/** Takes back what a write did, so that the next document finds what this one has found. */
async function restore(state: State, before: Snapshot): Promise<void> {
  const now = state.snapshot;
  const changed = state.schema.tables.filter(
    (table) => !table.storeOnly && table !== auditTrails && before.trees.get(table) !== now.trees.get(table),
  );
  await state.write((tx) => {
    for (const table of changed) {
      const stood = new Map(before.all(table).map((stored) => [table.key(stored.row), stored]));
      for (const { row } of now.all(table)) if (!stood.has(table.key(row))) tx.delete(table, table.key(row));
      for (const [key, stored] of stood) if (now.get(table, key) !== stored) tx.put(table, stored.row);
    }
  });
}
