/**
 * Sends random operations and complete sets, most of them nearly valid, first as a dry run. Checks that the request has
 * the outcome of the dry run, that rejected requests change nothing, and that the reported differences are correct.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { sortByCreation } from '../../../src/team-access/jsonapi/pagination.ts';
import { teamWorkspacePair, teamWorkspaces } from '../../../src/team-access/tables/team-workspace.ts';
import { type Api, startApi } from '../process/api.ts';
import type { Answer } from '../process/server.ts';
import { OPERATIONS_TYPE } from './operations.ts';
import { type CallerKind, type Company, makeCompany } from './organizations.ts';
import { MEDIA_TYPE, type ResourceObject, request } from './team-access.ts';

const SEED = 20_260_208;

const CALLERS = ['owner', 'admin-by-row', 'reader'] as const satisfies readonly CallerKind[];

interface RandomRequest {
  readonly caller: CallerKind;
  readonly body: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Generates `usual` `times` times as often as `unusual`, because the server reports only the first of many faults. */
const mostly = <T, U>(usual: fc.Arbitrary<T>, unusual: fc.Arbitrary<U>, times = 30): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: times, arbitrary: usual }, { weight: 1, arbitrary: unusual });
/** The last value cannot be converted to a string. */
const UNUSUAL_VALUES = [null, '', '__proto__', '\u0000', '\ud800', { toString: 1, valueOf: 1 }];
const anyJson = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(...UNUSUAL_VALUES));
const identifier = (type: string, ids: fc.Arbitrary<string>) =>
  fc.record({ type: fc.constant(type), id: mostly(ids, anyJson) });
const oneOf = (record: Readonly<Record<string, string>>) => fc.constantFrom(...Object.values(record));

/** Placeholders for the current row of a team, because the IDs change during the run. */
const ROW_PLACEHOLDER = fc.constantFrom('ROW:visible', 'ROW:secret', 'ROW:admins', 'ROW:idle');

const attributes = mostly(
  fc.oneof(
    fc.record({ access: fc.constantFrom('read', 'plan', 'write', 'admin') }),
    fc.record(
      {
        access: fc.constant('custom'),
        runs: mostly(fc.constantFrom('read', 'plan', 'apply'), anyJson),
        'run-tasks': fc.boolean(),
        'expires-at': fc.constantFrom('2999-01-01T00:00:00Z', null),
      },
      { requiredKeys: ['access'] },
    ),
  ),
  anyJson,
);

function operations({ teams, workspaces }: Company): fc.Arbitrary<string> {
  const team = mostly(
    mostly(
      identifier('teams', oneOf(teams)),
      fc.constantFrom({ type: 'teams', lid: 'a' }, { type: 'teams', lid: 'b' }),
      3,
    ),
    anyJson,
  );
  const workspace = identifier('workspaces', oneOf(workspaces));
  const organization = fc.constant({ data: { type: 'organizations', id: 'acme' } });
  const addRow = fc.record({
    op: fc.constant('add'),
    data: fc.record({
      type: fc.constant('team-workspaces'),
      attributes,
      relationships: fc.record({ team: fc.record({ data: team }), workspace: fc.record({ data: workspace }) }),
    }),
  });
  const changeRow = fc.record({
    op: fc.constant('update'),
    data: fc.record({ type: fc.constant('team-workspaces'), id: ROW_PLACEHOLDER, attributes }),
  });
  const removeRow = fc.record({ op: fc.constant('remove'), ref: identifier('team-workspaces', ROW_PLACEHOLDER) });
  const addTeam = fc.record({
    op: fc.constant('add'),
    data: fc.record({
      type: fc.constant('teams'),
      lid: fc.constantFrom('a', 'b', 'c'),
      attributes: fc.record({ name: mostly(fc.stringMatching(/^[a-z]{3,5}$/), anyJson) }),
      relationships: fc.record({ organization }),
    }),
  });
  const members = fc.record({
    op: fc.constantFrom('add', 'remove'),
    ref: fc.record({ type: fc.constant('teams'), id: oneOf(teams), relationship: fc.constant('users') }),
    data: fc.array(identifier('users', fc.constantFrom('acme-lonely', 'acme-idle', 'acme-visible')), { maxLength: 3 }),
  });
  const changeTeam = fc.record({
    op: fc.constantFrom('update', 'remove'),
    ref: mostly(
      fc.constantFrom({ type: 'teams', lid: 'a' }, { type: 'teams', lid: 'b' }),
      fc.oneof(fc.record({ type: fc.constant('teams'), lid: fc.constantFrom(...UNUSUAL_VALUES) }), anyJson),
      4,
    ),
    data: fc.record({
      type: fc.constant('teams'),
      attributes: fc.record({ description: mostly(fc.string(), anyJson) }),
    }),
  });
  const one = mostly(fc.oneof(addRow, addRow, changeRow, removeRow, addTeam, members, changeTeam), anyJson);
  const list = mostly(fc.array(one, { maxLength: 5 }), anyJson);
  return mostly(
    list.map((all) => JSON.stringify({ 'atomic:operations': all })),
    fc.json(),
  );
}

function completeSets({ teams }: Company): fc.Arbitrary<string> {
  const row = mostly(
    fc.oneof(
      fc.record({
        type: fc.constant('team-workspaces'),
        attributes,
        relationships: fc.record({ team: fc.record({ data: identifier('teams', oneOf(teams)) }) }),
      }),
      fc.record({
        type: fc.constant('team-workspaces'),
        attributes: fc.tuple(attributes, fc.constantFrom(...Object.keys(teams))).map(([given, name]) => ({
          ...(given as Json),
          'team-name': name,
        })),
      }),
    ),
    anyJson,
  );
  // Otherwise most sets would contain a team twice.
  const teamOf = (one: unknown): string => JSON.stringify(one).replace(/"access".*?[,}]/, '');
  const list = mostly(fc.uniqueArray(row, { maxLength: 5, selector: teamOf }), anyJson);
  return mostly(
    list.map((data) => JSON.stringify({ data })),
    fc.json(),
  );
}

/** Sends `count` requests of one kind. @returns the number of responses with each status */
export async function sendRandomBulk(kind: 'operations' | 'sets', count: number): Promise<ReadonlyMap<number, number>> {
  await using api = await startApi();
  const company = await makeCompany(api.state, 'acme');
  // The first use of a token changes the row of its user.
  for (const name of CALLERS) await request(api, company.tokens[name], 'GET', '/account/details');
  const statusCounts = new Map<number, number>();
  const body = kind === 'sets' ? completeSets(company) : operations(company);
  const caller = mostly(fc.constant(CALLERS[0]), fc.constantFrom(...CALLERS), 8);
  await fc.assert(
    fc.asyncProperty(fc.record({ caller, body }), async (sent) => {
      const status = await sendDryRunThenReal(api, company, kind, sent);
      statusCounts.set(status, (statusCounts.get(status) ?? 0) + 1);
    }),
    { numRuns: count, seed: SEED },
  );
  assert.deepEqual(api.log().match(/.*"level":"(error|warn|fatal)".*/g) ?? [], []);
  return statusCounts;
}

async function sendDryRunThenReal(
  api: Api,
  company: Company,
  kind: 'operations' | 'sets',
  { caller, body }: RandomRequest,
): Promise<number> {
  const text = body.replaceAll(/ROW:(\w+)/g, (_, name: keyof Company['teams']) => {
    const pair = teamWorkspacePair(company.teams[name], company.workspaces.main);
    return api.state.snapshot.find(teamWorkspaces, 'pair', pair)?.row.id ?? 'tws-none';
  });
  const isSet = kind === 'sets';
  const path = isSet ? `/workspaces/${company.workspaces.main}/team-access` : '/operations';
  const send = (query: string): Promise<Answer> =>
    request(api, company.tokens[caller], isSet ? 'PUT' : 'POST', path + query, {
      body: text,
      headers: { 'content-type': isSet ? MEDIA_TYPE : OPERATIONS_TYPE },
    });
  const before = await readRows(api);
  const known = JSON.stringify(before);
  const dry = await send('?dry-run=true');
  assert.ok(dry.status < 500, dry.text);
  assert.deepEqual(await readRows(api), before, 'a dry run changes nothing');
  const real = await send('');
  assert.equal(
    comparableAnswer(real, known),
    comparableAnswer(dry, known).replace('"dry-run":true', '"dry-run":false'),
  );
  if (real.status >= 400) assert.deepEqual(await readRows(api), before, 'a rejected request changes nothing');
  else if (isSet) assertDifferences(real, before, await readRows(api));
  return real.status;
}

/** Returns the rows of team access in order, and the tables that operations change. */
async function readRows(api: Api) {
  await api.usesWritten();
  const { snapshot } = api.state;
  return {
    rows: sortByCreation(snapshot.all(teamWorkspaces)).map(({ row }) => row),
    others: [...snapshot.tables.keys()]
      .filter(({ name }) => ['teams', 'team-members', 'organization-memberships', 'users'].includes(name))
      .map((table) => snapshot.all(table)),
  };
}

/** Returns a response with new IDs numbered, and without `meta.before`, which only a dry run has. */
function comparableAnswer({ status, text }: Answer, known: string): string {
  const names = new Map<string, string>();
  const ids = text.replaceAll(/\b(tws|team)-[A-Za-z0-9]{16}\b/g, (id) => {
    if (known.includes(id)) return id;
    if (!names.has(id)) names.set(id, `new-${names.size}`);
    return names.get(id) ?? id;
  });
  return `${status} ${ids.replaceAll(/,?"meta":\{"before":.*?"links":\{"self":"[^"]*"\}\}\}/g, '')}`;
}

type Rows = Awaited<ReturnType<typeof readRows>>['rows'];

/** Checks the differences in the response of a complete set against the rows before and after it [TEAM-82]. */
function assertDifferences(answer: Answer, before: { readonly rows: Rows }, after: { readonly rows: Rows }): void {
  const { data, meta } = answer.json<{
    data: ResourceObject[];
    meta: {
      differences: { change: string; before: ResourceObject | null; after: ResourceObject | null }[];
      counts: Json;
    };
  }>();
  const rowOf = (rows: Rows, id: string | undefined) => rows.find((row) => row.id === id);
  const changed = after.rows.filter((row) => JSON.stringify(rowOf(before.rows, row.id)) !== JSON.stringify(row));
  const removed = before.rows.filter(({ id }) => rowOf(after.rows, id) === undefined);
  const differencesOf = (change: string) => meta.differences.filter((one) => one.change === change);
  assert.deepEqual(
    [...differencesOf('added'), ...differencesOf('updated')].map((one) => one.after?.id).toSorted(),
    changed.map(({ id }) => id).toSorted(),
  );
  assert.deepEqual(
    differencesOf('removed').map((one) => one.before?.id),
    removed.map(({ id }) => id),
  );
  for (const { before: from, after: to } of meta.differences) {
    assert.equal(from?.attributes['access'], rowOf(before.rows, from?.id)?.access);
    assert.equal(to?.attributes['access'], rowOf(after.rows, to?.id)?.access);
  }
  const unchanged = data.length - differencesOf('added').length - differencesOf('updated').length;
  assert.equal(meta.counts['unchanged'], unchanged);
}
