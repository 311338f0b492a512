import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import {
  type Company,
  makeCompany,
  putTeam,
  rowBody,
  sharedCompany,
} from '../../../test/support/team-access/organizations.ts';
import {
  documentOf,
  errorsOf,
  NOT_FOUND,
  type ResourceObject,
  request,
  resource,
  statusAndText,
} from '../../../test/support/team-access/team-access.ts';
import { until } from '../../../test/support/until.ts';
import { type AuditEntry, auditLog, SYSTEM } from '../../audit/record.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { teamWorkspaces } from '../tables/team-workspace.ts';
import { rowExpiryJob } from './change-team-workspace.ts';

const CONCURRENT_REQUESTS = 50;

describe('concurrent requests to /team-workspaces', () => {
  const api = sharedApi();
  const setUp = sharedCompany(api);

  test(`create one row out of ${CONCURRENT_REQUESTS} for a pair, and the others get its ID [TEAM-2] [TEAM-53]`, async () => {
    const { company, owner } = setUp();
    const body = rowBody(company.teams.idle, company.workspaces.other, { access: 'read' });
    const answers = await Promise.all(
      Array.from({ length: CONCURRENT_REQUESTS }, () => request(api(), owner, 'POST', '/team-workspaces', { body })),
    );
    const won = answers.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    const { id } = documentOf(won[0] ?? assert.fail('no request succeeded')).data;
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assert.equal(answer.status, 422);
      assert.deepEqual(
        errorsOf(answer).map(({ meta }) => meta),
        [{ 'existing-id': id }],
      );
    }
    assert.deepEqual(ids(await rowsOf(api(), company, 'other')), [id]);
  });

  test('leave no row of a team that is deleted at the same time [AUTHZ-83]', async () => {
    const { company, owner } = setUp();
    const { workspaces } = company;
    const team = await api().state.write((tx) => putTeam(tx, company.id, 'short-lived', 'organization'));
    const before = ids(await rowsOf(api(), company, 'main'));
    const make = (workspace: string) =>
      request(api(), owner, 'POST', '/team-workspaces', { body: rowBody(team, workspace, { access: 'read' }) });
    const answers = await Promise.all([
      make(workspaces.main),
      make(workspaces.other),
      request(api(), owner, 'DELETE', `/teams/${team}`),
      make(workspaces.main),
      make(workspaces.other),
    ]);
    for (const { status } of answers) assert.ok([200, 204, 404, 422].includes(status), String(status));
    assert.deepEqual(ids(await rowsOf(api(), company, 'main')), before);
    await until('the rows of the deleted team are removed', () => !api().state.snapshot.mayHaveOrphans);
    const left = api()
      .state.snapshot.all(teamWorkspaces)
      .filter(({ row }) => row.teamId === team);
    assert.deepEqual(left, []);
  });
});

describe('a team-workspaces row', () => {
  const api = sharedApi();
  const setUp = sharedCompany(api);

  test('is not found after its deletion, and its pair is free [TEAM-54]', async () => {
    const { company, owner } = setUp();
    const body = rowBody(company.teams.idle, company.workspaces.other, { access: 'read' });
    const { id } = documentOf(await request(api(), owner, 'POST', '/team-workspaces', { body })).data;
    const path = `/team-workspaces/${id}`;
    assert.deepEqual(statusAndText(await request(api(), owner, 'DELETE', path)), [204, '']);
    for (const method of ['DELETE', 'GET', 'PATCH']) {
      const sent = method === 'PATCH' ? { body: resource('team-workspaces', {}) } : {};
      assert.deepEqual(statusAndText(await request(api(), owner, method, path, sent)), NOT_FOUND);
    }
    const again = documentOf(await request(api(), owner, 'POST', '/team-workspaces', { body })).data;
    assert.notEqual(again.id, id);
  });

  test('is updated only if If-Match matches its current state [DOC-18]', async () => {
    const { company, owner } = setUp();
    const path = `/team-workspaces/${company.rows.admins}`;
    const { etag = '' } = (await request(api(), owner, 'GET', path)).headers;
    const write = (access: string) =>
      request(api(), owner, 'PATCH', path, {
        body: resource('team-workspaces', { access }),
        headers: { 'if-match': etag },
      });
    assert.equal((await write('plan')).status, 200);
    const late = await write('read');
    assert.deepEqual(statusAndText(late), [
      412,
      '{"errors":[{"status":"412","title":"precondition failed","detail":"If-Match does not name the current state"}]}',
    ]);
    assert.equal(documentOf(await request(api(), owner, 'GET', path)).data.attributes['access'], 'plan');
  });

  test('has an audit entry with before and after for every change [TEAM-98]', async () => {
    const { company, owner } = setUp();
    const { teams, workspaces } = company;
    const body = rowBody(teams.hidden, workspaces.main, { access: 'read' });
    const { id } = documentOf(await request(api(), owner, 'POST', '/team-workspaces', { body })).data;
    const path = `/team-workspaces/${id}`;
    await request(api(), owner, 'PATCH', path, { body: resource('team-workspaces', { access: 'admin' }) });
    await request(api(), owner, 'DELETE', path);
    const recorded = (await readEntries(api(), id)).map(({ action, type, before, after }) => [
      ...[action, type],
      ...[levelOf(before), levelOf(after)],
    ]);
    assert.deepEqual(recorded, [
      ['add_team', 'team-workspaces', undefined, 'read'],
      ['update_team_permissions', 'team-workspaces', 'read', 'admin'],
      ['remove_team', 'team-workspaces', 'admin', undefined],
    ]);
    const [entry] = await readEntries(api(), id);
    assert.equal((entry?.after as { team: string } | undefined)?.team, teams.hidden);
    assert.match(entry?.actor ?? '', /^user-/);
  });
});

describe('a team-workspaces row with expires-at', () => {
  const SECOND_MS = 1_000;

  test('exists until that time and for no caller afterwards [TEAM-58]', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const company = await makeCompany(api.state, 'acme');
    const { owner } = company.tokens;
    const end = new Date(clock.now() + 10 * SECOND_MS).toISOString();
    const body = rowBody(company.teams.idle, company.workspaces.main, { access: 'read', 'expires-at': end });
    const { data } = documentOf(await request(api, owner, 'POST', '/team-workspaces', { body }));
    assert.equal(data.attributes['expires-at'], end);
    const member = company.tokens['member-without-row'];
    const workspace = `/workspaces/${company.workspaces.main}`;
    const path = `/team-workspaces/${data.id}`;
    const { etag: before } = (await rowsAnswer(api, company, 'main')).headers;
    clock.advance(10 * SECOND_MS - 1);
    assert.equal((await request(api, member, 'GET', path)).status, 200);
    assert.equal((await request(api, member, 'GET', workspace)).status, 200);

    clock.advance(1);
    assert.deepEqual(statusAndText(await request(api, member, 'GET', workspace)), NOT_FOUND);
    for (const token of [member, owner])
      assert.deepEqual(statusAndText(await request(api, token, 'GET', path)), NOT_FOUND);
    assert.equal((await rowsOf(api, company, 'main')).length, 3);
    assert.notEqual((await rowsAnswer(api, company, 'main')).headers.etag, before);

    const again = rowBody(company.teams.idle, company.workspaces.main, { access: 'plan' });
    assert.equal((await request(api, owner, 'POST', '/team-workspaces', { body: again })).status, 200);
    assert.deepEqual(await actionsOf(api, data.id), [
      ['add_team', 'user'],
      ['expire', SYSTEM.actor],
    ]);
  });

  test('gets a later, no, or an earlier expiry time by an update [TEAM-57] [DOC-5]', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const company = await makeCompany(api.state, 'acme');
    const path = `/team-workspaces/${company.rows.visible}`;
    const patch = async (end: string | null) => {
      const body = resource('team-workspaces', { 'expires-at': end });
      return documentOf(await request(api, company.tokens.owner, 'PATCH', path, { body })).data.attributes;
    };
    assert.equal((await patch('2031-01-01T02:00:00+02:00'))['expires-at'], '2031-01-01T00:00:00.000Z');
    assert.equal((await patch('2032-01-01T00:00:00Z'))['expires-at'], '2032-01-01T00:00:00.000Z');
    const kept = await request(api, company.tokens.owner, 'PATCH', path, {
      body: resource('team-workspaces', { access: 'plan' }),
    });
    assert.equal(documentOf(kept).data.attributes['expires-at'], '2032-01-01T00:00:00.000Z');
    assert.equal('expires-at' in (await patch(null)), false);
  });

  test('is deleted by the background job with an audit entry [TEAM-59]', async () => {
    const clock = createFakeClock();
    await using api = await startApi({ clock });
    const company = await makeCompany(api.state, 'acme');
    const end = new Date(clock.now() + 5 * SECOND_MS).toISOString();
    const body = resource('team-workspaces', { 'expires-at': end });
    const id = company.rows.secret;
    await request(api, company.tokens.owner, 'PATCH', `/team-workspaces/${id}`, { body });
    const stop = api.state.addJob(rowExpiryJob(api.state, clock));
    const countBefore = api.state.snapshot.count(teamWorkspaces);
    await until('the row is removed', async () => {
      await clock.run(SECOND_MS);
      return api.state.snapshot.count(teamWorkspaces) === countBefore - 1;
    });
    stop();
    assert.deepEqual((await actionsOf(api, id)).at(-1), ['expire', SYSTEM.actor]);
  });
});

describe('a temporary change of a team-workspaces row', () => {
  const SECOND_MS = 1_000;

  /** A company with a clock, and requests for the row of the team `visible`. */
  async function scene() {
    const clock = createFakeClock();
    const api = await startApi({ clock });
    const company = await makeCompany(api.state, 'acme');
    const id = company.rows.visible;
    const path = `/team-workspaces/${id}`;
    const { owner } = company.tokens;
    return {
      api,
      clock,
      company,
      id,
      [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
      at: (seconds: number) => new Date(clock.now() + seconds * SECOND_MS).toISOString(),
      async patch(attributes: Readonly<Record<string, unknown>>) {
        const body = resource('team-workspaces', attributes);
        return documentOf(await request(api, owner, 'PATCH', path, { body })).data.attributes;
      },
      async read() {
        const answer = await request(api, owner, 'GET', path);
        return answer.status === 200 ? documentOf(answer).data.attributes : undefined;
      },
      /** Lets the time pass, and waits for the background job. */
      async pass(seconds: number) {
        const stop = api.state.addJob(rowExpiryJob(api.state, clock));
        for (let second = 0; second < seconds; second++) await clock.run(SECOND_MS);
        await until('the job has run', async () => {
          await clock.run(0);
          return (await readEntries(api, id)).at(-1)?.action === 'expire';
        });
        stop();
      },
    };
  }

  test('ends with the earlier access, under the same ID and with an audit entry [TEAM-58] [TEAM-115]', async () => {
    await using row = await scene();
    await row.patch({ access: 'custom', runs: 'plan', variables: 'read' });
    const before = await row.read();
    const raised = await row.patch({ access: 'admin', 'expires-at': row.at(5) });
    assert.deepEqual([raised['access'], raised['base-access']], ['admin', 'custom']);
    await row.pass(6);
    await until('the row is back', async () => (await row.read()) !== undefined);
    assert.deepEqual(await row.read(), before);
    const last = (await readEntries(row.api, row.id)).at(-1);
    assert.deepEqual([last?.action, levelOf(last?.before), levelOf(last?.after)], ['expire', 'admin', 'custom']);
  });

  test('keeps the first access through further temporary changes, and none if made permanent [TEAM-115]', async () => {
    await using row = await scene();
    await row.patch({ access: 'read' });
    await row.patch({ access: 'write', 'expires-at': row.at(5) });
    const again = await row.patch({ access: 'admin', 'expires-at': row.at(10) });
    assert.deepEqual([again['access'], again['base-access']], ['admin', 'read']);
    const moved = await row.patch({ 'expires-at': row.at(20) });
    assert.deepEqual([moved['access'], moved['base-access']], ['admin', 'read']);
    const permanent = await row.patch({ 'expires-at': null });
    assert.deepEqual([permanent['access'], permanent['base-access']], ['admin', undefined]);
  });

  test('returns to an access that a change without expires-at sets [TEAM-115]', async () => {
    await using row = await scene();
    await row.patch({ access: 'write' });
    await row.patch({ access: 'admin', 'expires-at': row.at(5) });
    const lowered = await row.patch({ access: 'read' });
    assert.deepEqual([lowered['access'], lowered['base-access']], ['read', 'read']);
  });

  test('is no change with expires-at alone, which ends the row [TEAM-115]', async () => {
    await using row = await scene();
    const ending = await row.patch({ 'expires-at': row.at(5) });
    assert.equal(ending['base-access'], undefined);
    await row.pass(6);
    assert.equal(await row.read(), undefined);
  });

  test('is replaced by a new row of the pair after its end [TEAM-115]', async () => {
    await using row = await scene();
    const { teams, workspaces, tokens } = row.company;
    await row.patch({ access: 'admin', 'expires-at': row.at(1) });
    // No job runs, so the creation deletes the expired row.
    row.clock.advance(2 * SECOND_MS);
    const body = rowBody(teams.visible, workspaces.main, { access: 'plan' });
    const answer = await request(row.api, tokens.owner, 'POST', '/team-workspaces', { body });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await rowsOf(row.api, row.company, 'main')).length, 3);
    assert.equal(await row.read(), undefined);
  });

  test('stays as it is when a complete set states the same row [TEAM-115]', async () => {
    await using row = await scene();
    await row.patch({ access: 'read' });
    const end = row.at(50);
    await row.patch({ access: 'admin', 'expires-at': end });
    const { workspaces, teams, rows, tokens } = row.company;
    const put = async (attributes: Readonly<Record<string, unknown>>) => {
      const data = [rowBody(teams.visible, workspaces.main, attributes).data];
      const answer = await request(row.api, tokens.owner, 'PUT', `/workspaces/${workspaces.main}/team-access`, {
        body: { data },
      });
      assert.equal(answer.status, 200, answer.text);
      return documentOf<ResourceObject[]>(answer).data.find(({ id }) => id === rows.visible)?.attributes['base-access'];
    };
    assert.equal(await put({ access: 'admin', 'expires-at': end }), 'read');
    assert.equal(await put({ access: 'write', 'expires-at': end }), undefined);
  });
});

const ids = (rows: readonly ResourceObject[]): readonly string[] => rows.map(({ id }) => id);
const rowsAnswer = (api: Api, { workspaces, tokens }: Company, workspace: 'main' | 'other') =>
  request(api, tokens.owner, 'GET', `/team-workspaces?filter[workspace][id]=${workspaces[workspace]}`);
const rowsOf = async (api: Api, company: Company, workspace: 'main' | 'other'): Promise<readonly ResourceObject[]> =>
  documentOf<ResourceObject[]>(await rowsAnswer(api, company, workspace)).data;

const levelOf = (recorded: unknown): string | undefined =>
  (recorded as { permissions: { access: string } } | null)?.permissions.access;

async function readEntries(api: Api, subject: string): Promise<DeepReadonly<AuditEntry>[]> {
  const entries = await api.state.scan(auditLog, { limit: 1_000 }, AbortSignal.timeout(10_000));
  return entries.map(({ row }) => row).filter((entry) => entry.subject === subject);
}

/** Returns the audited actions on a row, each with the kind of its actor. */
const actionsOf = async (api: Api, subject: string) =>
  (await readEntries(api, subject)).map(({ action, actor }) => [action, actor.split('-', 1)[0]]);
