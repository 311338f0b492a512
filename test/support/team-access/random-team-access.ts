/**
 * Random JSON:API documents for the writes of team access: almost right, or not at all. Whatever comes is answered,
 * never with a fault of the server, and what is refused changes nothing.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { teamWorkspaces } from '../../../src/team-access/tables/team-workspace.ts';
import { type Api, startApi } from '../process/api.ts';
import { CALLERS, type CallerKind, type Company, makeCompany } from './organizations.ts';
import { request } from './team-access.ts';

const SEED = 20_260_131;

interface Sent {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly caller: CallerKind;
  readonly body: string;
}

/** `usual` most of the time: a document with five faults tells only of the first step. */
const mostly = <T, U>(usual: fc.Arbitrary<T>, unusual: fc.Arbitrary<U>, times = 8): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: times, arbitrary: usual }, { weight: 1, arbitrary: unusual });

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, '', '__proto__', 'constructor', '\u0000', '\ud800', 'x'.repeat(2_000)),
);

function documents({ teams, workspaces, rows }: Company): fc.Arbitrary<Sent> {
  const level = mostly(fc.constantFrom('read', 'plan', 'write', 'admin', 'custom', 'custom', 'custom'), anything, 12);
  const attributes = fc.record(
    {
      access: level,
      runs: mostly(fc.constantFrom('read', 'plan', 'apply'), anything),
      variables: mostly(fc.constantFrom('none', 'read', 'write'), anything),
      'state-versions': mostly(fc.constantFrom('none', 'read-outputs', 'read', 'write'), anything),
      'policy-mocks': mostly(fc.constantFrom('none', 'read'), anything),
      'sentinel-mocks': mostly(fc.constantFrom('none', 'read'), anything),
      'policy-overrides': mostly(fc.boolean(), anything),
      'workspace-locking': mostly(fc.boolean(), anything),
      'run-tasks': mostly(fc.boolean(), anything),
      'expires-at': mostly(fc.constantFrom('2999-01-01T00:00:00Z', null), anything),
      'plan-outputs': anything,
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
          type: mostly(fc.constant(type), anything, 12),
          id: mostly(fc.constantFrom(...ids), anything, 12),
        }),
      }),
      anything,
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
        type: mostly(fc.constant('team-workspaces'), anything, 12),
        id: mostly(fc.constant(undefined), anything, 12),
        attributes: mostly(mostly(fewAttributes, attributes, 2), anything, 12),
        relationships: mostly(updates ? fc.constant(undefined) : both, mostly(relationships, anything, 2), 8),
      },
      { requiredKeys: ['type', 'attributes', 'relationships'] },
    );
  const body = (updates: boolean) =>
    mostly(
      mostly(fc.record({ data: data(updates) }), anything, 12).map((value) => JSON.stringify(value)),
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
    { weight: 1, arbitrary: fc.record({ method: fc.constant('DELETE'), path: id, caller, body: fc.constant('') }) },
  ) as fc.Arbitrary<Sent>;
}

/** Sends so many, with `compat = terraform` or without. @returns how often each status was met */
export async function sendRandomDocuments(count: number, terraform: boolean): Promise<ReadonlyMap<number, number>> {
  await using api = await startApi({ terraform });
  const company = await makeCompany(api.state, 'acme');
  const met = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(documents(company), async (sent) => {
      const status = await sendOne(api, company, sent);
      met.set(status, (met.get(status) ?? 0) + 1);
    }),
    { numRuns: count, seed: SEED },
  );
  const complaints = api.log().match(/.*"level":"(error|warn|fatal)".*/g) ?? [];
  assert.deepEqual(complaints, []);
  return met;
}

/** Rows that were made on the way are removed now and then, so that pairs are free again. */
async function sendOne(api: Api, company: Company, { method, path, caller, body }: Sent): Promise<number> {
  const rows = api.state.snapshot.trees.get(teamWorkspaces);
  const address = path === '' ? '/team-workspaces' : `/team-workspaces/${path}`;
  const answer = await request(api, company.tokens[caller], method, address, { body });
  assert.ok(answer.status < 500, `${answer.status} ${answer.text}`);
  if (answer.status >= 400) {
    assert.equal(api.state.snapshot.trees.get(teamWorkspaces), rows, answer.text);
    const { errors } = answer.json<{ errors: readonly Record<string, unknown>[] }>();
    assert.ok(errors.length > 0 && errors.every(({ status }) => status === String(answer.status)), answer.text);
  } else if (method === 'POST') {
    const { id } = answer.json<{ data: { id: string } }>().data;
    await api.state.write((tx) => void tx.delete(teamWorkspaces, id));
  } else if (method === 'DELETE') {
    const removed = (rows?.rows.get(path) as { row: object } | undefined)?.row;
    assert.ok(removed !== undefined, 'what was removed was there');
    await api.state.write((tx) => void tx.put(teamWorkspaces, removed as never));
  }
  return answer.status;
}
