/**
 * Sends random JSON:API documents, most of them nearly valid, to the writes of rows. Checks that no response is 5xx and
 * that rejected requests change nothing [V1-51].
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { teamWorkspaces } from '../../../src/team-access/tables/team-workspace.ts';
import { type Api, startApi } from '../process/api.ts';
import { CALLERS, type CallerKind, type Company, makeCompany } from './organizations.ts';
import { anyJson, mostly } from './random-writes.ts';
import { request } from './team-access.ts';

const SEED = 20_260_131;

interface RandomRequest {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly caller: CallerKind;
  readonly body: string;
}

function documents({ teams, workspaces, rows }: Company): fc.Arbitrary<RandomRequest> {
  const level = mostly(fc.constantFrom('read', 'plan', 'write', 'admin', 'custom', 'custom', 'custom'), anyJson, 12);
  const attributes = fc.record(
    {
      access: level,
      runs: mostly(fc.constantFrom('read', 'plan', 'apply'), anyJson),
      variables: mostly(fc.constantFrom('none', 'read', 'write'), anyJson),
      'state-versions': mostly(fc.constantFrom('none', 'read-outputs', 'read', 'write'), anyJson),
      'policy-mocks': mostly(fc.constantFrom('none', 'read'), anyJson),
      'sentinel-mocks': mostly(fc.constantFrom('none', 'read'), anyJson),
      'policy-overrides': mostly(fc.boolean(), anyJson),
      'workspace-locking': mostly(fc.boolean(), anyJson),
      'run-tasks': mostly(fc.boolean(), anyJson),
      'expires-at': mostly(fc.constantFrom('2999-01-01T00:00:00Z', null), anyJson),
      'plan-outputs': anyJson,
    },
    { requiredKeys: ['access'] },
  );
  const few = fc.subarray([...Object.keys({ runs: 0, variables: 0, 'run-tasks': 0, 'expires-at': 0 })], {
    maxLength: 2,
  });
  const fewAttributes = fc
    .tuple(attributes, few)
    .map(([all, names]) =>
      Object.fromEntries(Object.entries(all).filter(([name]) => name === 'access' || names.includes(name))),
    );
  const link = (type: string, ids: readonly string[]) =>
    mostly(
      fc.record({
        data: fc.record({
          type: mostly(fc.constant(type), anyJson, 12),
          id: mostly(fc.constantFrom(...ids), anyJson, 12),
        }),
      }),
      anyJson,
      12,
    );
  const relationships = fc.record(
    { team: link('teams', Object.values(teams)), workspace: link('workspaces', Object.values(workspaces)) },
    { requiredKeys: [] },
  );
  const both = fc.record({
    team: link('teams', Object.values(teams)),
    workspace: link('workspaces', Object.values(workspaces)),
  });
  const data = (updates: boolean) =>
    fc.record(
      {
        type: mostly(fc.constant('team-workspaces'), anyJson, 12),
        id: mostly(fc.constant(undefined), anyJson, 12),
        attributes: mostly(mostly(fewAttributes, attributes, 2), anyJson, 12),
        relationships: mostly(updates ? fc.constant(undefined) : both, mostly(relationships, anyJson, 2), 8),
      },
      { requiredKeys: ['type', 'attributes', 'relationships'] },
    );
  const body = (updates: boolean) =>
    mostly(
      mostly(fc.record({ data: data(updates) }), anyJson, 12).map((value) => JSON.stringify(value)),
      fc.tuple(fc.json(), fc.nat(40)).map(([text, cut]) => text.slice(0, cut)),
      20,
    );
  const id = mostly(fc.constantFrom(...Object.values(rows)), fc.constantFrom('tws-x', '%00', '..', '%ff', '*'), 12);
  const caller = mostly(fc.constantFrom('owner', 'admin-by-row', 'organization-token'), fc.constantFrom(...CALLERS), 3);
  return fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ method: fc.constant('POST'), path: fc.constant(''), caller, body: body(false) }),
    },
    { weight: 5, arbitrary: fc.record({ method: fc.constant('PATCH'), path: id, caller, body: body(true) }) },
    {
      weight: 1,
      arbitrary: fc.record({ method: fc.constant('DELETE'), path: id, caller, body: fc.constant('') }),
    },
  ) as fc.Arbitrary<RandomRequest>;
}

/** Sends `count` random requests. @returns the number of responses with each status */
export async function sendRandomRowWrites(count: number, terraform: boolean): Promise<ReadonlyMap<number, number>> {
  await using api = await startApi({ terraform });
  const company = await makeCompany(api.state, 'acme');
  const statusCounts = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(documents(company), async (sent) => {
      const status = await sendOne(api, company, sent);
      statusCounts.set(status, (statusCounts.get(status) ?? 0) + 1);
    }),
    { numRuns: count, seed: SEED },
  );
  const problems = api.log().match(/.*"level":"(error|warn|fatal)".*/g) ?? [];
  assert.deepEqual(problems, []);
  return statusCounts;
}

/** Sends one request and reverts its effect, so that later documents find the same rows. @returns the status */
async function sendOne(api: Api, company: Company, { method, path, caller, body }: RandomRequest): Promise<number> {
  const rows = api.state.snapshot.tables.get(teamWorkspaces);
  const address = path === '' ? '/team-workspaces' : `/team-workspaces/${path}`;
  const answer = await request(api, company.tokens[caller], method, address, { body });
  assert.ok(answer.status < 500, `${answer.status} ${answer.text}`);
  if (answer.status >= 400) {
    assert.equal(api.state.snapshot.tables.get(teamWorkspaces), rows, answer.text);
    const { errors } = answer.json<{ errors: readonly Record<string, unknown>[] }>();
    assert.ok(errors.length > 0 && errors.every(({ status }) => status === String(answer.status)), answer.text);
  } else if (method === 'POST') {
    const { id } = answer.json<{ data: { id: string } }>().data;
    await api.state.write((tx) => void tx.delete(teamWorkspaces, id));
  } else if (method === 'DELETE') {
    const removed = (rows?.rows.get(path) as { row: object } | undefined)?.row;
    assert.ok(removed !== undefined, 'the deleted row existed');
    await api.state.write((tx) => void tx.put(teamWorkspaces, removed as never));
  }
  return answer.status;
}
