/**
 * Random operations and complete sets: almost right, or not at all. Each is asked for in a dry run first: the real thing
 * comes to the same, what is refused changes nothing, and the differences that are told are those that there are.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { byCreation } from '../../../src/team-access/tables/creation-order.ts';
import { teamWorkspacePair, teamWorkspaces } from '../../../src/team-access/tables/team-workspace.ts';
import { type Api, startApi } from '../process/api.ts';
import type { Answer } from '../process/server.ts';
import { OPERATIONS_TYPE } from './operations.ts';
import { type CallerKind, type Company, makeCompany } from './organizations.ts';
import { MEDIA_TYPE, request, type Shown } from './team-access.ts';

const SEED = 20_260_208;

const CALLERS = ['owner', 'admin-by-row', 'reader'] as const satisfies readonly CallerKind[];

interface Sent {
  readonly caller: CallerKind;
  readonly body: string;
}

type Json = Readonly<Record<string, unknown>>;

/** `usual` most of the time: a document with faults everywhere tells only of the first. */
const mostly = <T, U>(usual: fc.Arbitrary<T>, unusual: fc.Arbitrary<U>, times = 30): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: times, arbitrary: usual }, { weight: 1, arbitrary: unusual });
/** The object cannot even be converted to text. */
const UNUSUAL = [null, '', '__proto__', '\u0000', '\ud800', { toString: 1, valueOf: 1 }];
const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(...UNUSUAL));
const identifier = (type: string, ids: fc.Arbitrary<string>) =>
  fc.record({ type: fc.constant(type), id: mostly(ids, anything) });
const oneOf = (record: Readonly<Record<string, string>>) => fc.constantFrom(...Object.values(record));

/** Rows go and come: they are named by their teams, and found when the request is made. */
const ROW = fc.constantFrom('ROW:visible', 'ROW:secret', 'ROW:admins', 'ROW:idle');

const attributes = mostly(
  fc.oneof(
    fc.record({ access: fc.constantFrom('read', 'plan', 'write', 'admin') }),
    fc.record(
      {
        access: fc.constant('custom'),
        runs: mostly(fc.constantFrom('read', 'plan', 'apply'), anything),
        'run-tasks': fc.boolean(),
        'expires-at': fc.constantFrom('2999-01-01T00:00:00Z', null),
      },
      { requiredKeys: ['access'] },
    ),
  ),
  anything,
);

function operations({ teams, workspaces }: Company): fc.Arbitrary<string> {
  const team = mostly(
    mostly(
      identifier('teams', oneOf(teams)),
      fc.constantFrom({ type: 'teams', lid: 'a' }, { type: 'teams', lid: 'b' }),
      3,
    ),
    anything,
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
    data: fc.record({ type: fc.constant('team-workspaces'), id: ROW, attributes }),
  });
  const removeRow = fc.record({ op: fc.constant('remove'), ref: identifier('team-workspaces', ROW) });
  const addTeam = fc.record({
    op: fc.constant('add'),
    data: fc.record({
      type: fc.constant('teams'),
      lid: fc.constantFrom('a', 'b', 'c'),
      attributes: fc.record({ name: mostly(fc.stringMatching(/^[a-z]{3,5}$/), anything) }),
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
      fc.oneof(fc.record({ type: fc.constant('teams'), lid: fc.constantFrom(...UNUSUAL) }), anything),
      4,
    ),
    data: fc.record({
      type: fc.constant('teams'),
      attributes: fc.record({ description: mostly(fc.string(), anything) }),
    }),
  });
  const one = mostly(fc.oneof(addRow, addRow, changeRow, removeRow, addTeam, members, changeTeam), anything);
  const list = mostly(fc.array(one, { maxLength: 5 }), anything);
  return mostly(
    list.map((all) => JSON.stringify({ 'atomic:operations': all })),
    fc.json(),
  );
}

function sets({ teams }: Company): fc.Arbitrary<string> {
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
    anything,
  );
  // Few of them would be without a team twice otherwise.
  const teamOf = (one: unknown): string => JSON.stringify(one).replace(/"access".*?[,}]/, '');
  const list = mostly(fc.uniqueArray(row, { maxLength: 5, selector: teamOf }), anything);
  return mostly(
    list.map((data) => JSON.stringify({ data })),
    fc.json(),
  );
}

/** Sends so many of one kind. @returns how often each status was met */
export async function sendRandomBulk(kind: 'operations' | 'sets', count: number): Promise<ReadonlyMap<number, number>> {
  await using api = await startApi();
  const company = await makeCompany(api.state, 'acme');
  // The first use of a user's token is a change of the user.
  for (const name of CALLERS) await request(api, company.tokens[name], 'GET', '/account/details');
  const met = new Map<number, number>();
  const body = kind === 'sets' ? sets(company) : operations(company);
  const caller = mostly(fc.constant(CALLERS[0]), fc.constantFrom(...CALLERS), 8);
  await fc.assert(
    fc.asyncProperty(fc.record({ caller, body }), async (sent) => {
      const status = await sendTwice(api, company, kind, sent);
      met.set(status, (met.get(status) ?? 0) + 1);
    }),
    { numRuns: count, seed: SEED },
  );
  assert.deepEqual(api.log().match(/.*"level":"(error|warn|fatal)".*/g) ?? [], []);
  return met;
}

async function sendTwice(
  api: Api,
  company: Company,
  kind: 'operations' | 'sets',
  { caller, body }: Sent,
): Promise<number> {
  const text = body.replaceAll(/ROW:(\w+)/g, (_, name: keyof Company['teams']) => {
    const pair = teamWorkspacePair(company.teams[name], company.workspaces.main);
    return api.state.snapshot.find(teamWorkspaces, 'pair', pair)?.row.id ?? 'tws-none';
  });
  const set = kind === 'sets';
  const path = set ? `/workspaces/${company.workspaces.main}/team-access` : '/operations';
  const send = (query: string): Promise<Answer> =>
    request(api, company.tokens[caller], set ? 'PUT' : 'POST', path + query, {
      body: text,
      headers: { 'content-type': set ? MEDIA_TYPE : OPERATIONS_TYPE },
    });
  const before = await picture(api);
  const known = JSON.stringify(before);
  const dry = await send('?dry-run=true');
  assert.ok(dry.status < 500, dry.text);
  assert.deepEqual(await picture(api), before, 'a dry run changes nothing');
  const real = await send('');
  assert.equal(comparable(real, known), comparable(dry, known).replace('"dry-run":true', '"dry-run":false'));
  if (real.status >= 400) assert.deepEqual(await picture(api), before, 'what is refused changes nothing');
  else if (set) assertDifference(real, before, await picture(api));
  return real.status;
}

/** All rows of team access but the uses of tokens, in order. */
async function picture(api: Api) {
  await api.usesWritten();
  const { snapshot } = api.state;
  return {
    rows: byCreation(snapshot.all(teamWorkspaces)).map(({ row }) => row),
    others: [...snapshot.trees.keys()]
      .filter(({ name }) => ['teams', 'team-members', 'organization-memberships', 'users'].includes(name))
      .map((table) => snapshot.all(table)),
  };
}

/** An answer without what a dry run cannot tell: the ids of what is new, and what is told besides. */
function comparable({ status, text }: Answer, known: string): string {
  const names = new Map<string, string>();
  const ids = text.replaceAll(/\b(tws|team)-[A-Za-z0-9]{16}\b/g, (id) => {
    if (known.includes(id)) return id;
    if (!names.has(id)) names.set(id, `new-${names.size}`);
    return names.get(id) ?? id;
  });
  return `${status} ${ids.replaceAll(/,?"meta":\{"before":.*?"links":\{"self":"[^"]*"\}\}\}/g, '')}`;
}

type Rows = Awaited<ReturnType<typeof picture>>['rows'];

/** What is told to be different is what is. */
function assertDifference(answer: Answer, before: { readonly rows: Rows }, after: { readonly rows: Rows }): void {
  const { data, meta } = answer.json<{
    data: Shown[];
    meta: { differences: { change: string; before: Shown | null; after: Shown | null }[]; counts: Json };
  }>();
  const here = (rows: Rows, id: string | undefined) => rows.find((row) => row.id === id);
  const changed = after.rows.filter((row) => JSON.stringify(here(before.rows, row.id)) !== JSON.stringify(row));
  const gone = before.rows.filter(({ id }) => here(after.rows, id) === undefined);
  const told = (change: string) => meta.differences.filter((one) => one.change === change);
  assert.deepEqual(
    [...told('added'), ...told('updated')].map((one) => one.after?.id).toSorted(),
    changed.map(({ id }) => id).toSorted(),
  );
  assert.deepEqual(
    told('removed').map((one) => one.before?.id),
    gone.map(({ id }) => id),
  );
  for (const { before: from, after: to } of meta.differences) {
    assert.equal(from?.attributes['access'], here(before.rows, from?.id)?.access);
    assert.equal(to?.attributes['access'], here(after.rows, to?.id)?.access);
  }
  const unchanged = data.length - told('added').length - told('updated').length;
  assert.equal(meta.counts['unchanged'], unchanged);
}
