import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import { documentOf, makeOrganization, request, resource } from '../../../test/support/team-access/team-access.ts';
import { until } from '../../../test/support/until.ts';
import { auditLog, SYSTEM } from '../../audit/record.ts';
import { newId } from '../../credentials/ids-and-secrets.ts';
import { UNCLAIMED, users } from '../../credentials/user.ts';
import { JOB_BATCH_ROWS } from '../../state/limits.ts';
import { INVITED_INTERVAL_MS } from '../limits.ts';
import { normalizeName, organizations } from '../tables/organization.ts';
import { memberships } from '../tables/organization-membership.ts';
import { unclaimedUsersJob } from './remove-unclaimed-users.ts';

describe('an unclaimed user', () => {
  const clock = createFakeClock();
  const api = sharedApi({ clock });
  const admin = (method: string, path: string, body?: unknown) =>
    request(api(), api().adminToken, method, path, body === undefined ? {} : { body });
  const invite = async (organization: string, email: string): Promise<string> => {
    const path = `/organizations/${organization}/organization-memberships`;
    return documentOf(await admin('POST', path, resource('organization-memberships', { email }))).data.id;
  };
  const exists = (email: string): boolean => api().state.snapshot.find(users, 'email', email) !== undefined;
  const readEntries = async () => {
    const entries = await api().state.scan(auditLog, { limit: 1_000 }, new AbortController().signal);
    return entries.map(({ row }) => row).filter(({ action, type }) => action === 'destroy' && type === 'users');
  };

  test('is deleted in the commit that ends their last membership [AUTHZ-65]', async () => {
    for (const name of ['one', 'two']) await makeOrganization(api(), api().adminToken, name);
    const ids = [await invite('one', 'guest@example.org'), await invite('two', 'guest@example.org')];
    await admin('DELETE', `/organization-memberships/${ids[0]}`);
    assert.ok(exists('guest@example.org'));
    await admin('DELETE', `/organization-memberships/${ids[1]}`);
    assert.ok(!exists('guest@example.org'));
    const entry = (await readEntries()).at(-1);
    assert.equal(entry?.organizationId, api().state.snapshot.find(organizations, 'name', 'two')?.row.id);
  });

  test('is kept after a site administrator has claimed them', async () => {
    await makeOrganization(api(), api().adminToken, 'three');
    const id = await invite('three', 'taken@example.org');
    await admin('POST', '/admin/users', resource('users', { username: 'taken', email: 'taken@example.org' }));
    await admin('DELETE', `/organization-memberships/${id}`);
    assert.ok(exists('taken@example.org'));
  });

  test('is deleted by the background job after the deletion of their organization [AUTHZ-65]', async () => {
    for (const name of ['crowd', 'other']) await makeOrganization(api(), api().adminToken, name);
    await api().state.write((tx) => {
      const organizationId = tx.find(organizations, 'name', normalizeName('crowd'))?.row.id ?? '';
      for (let place = 0; place < 2 * JOB_BATCH_ROWS; place++) {
        const [id, userId, createTime] = [newId('ou'), newId('user'), new Date(tx.now).toISOString()];
        const name = `crowd-${place}`;
        tx.put(users, { id: userId, username: name, email: name, siteAdmin: false, createTime, unclaimed: true });
        tx.put(memberships, { id, organizationId, userId, createTime, place, invited: true });
      }
    });
    await invite('crowd', 'both@example.org');
    await invite('other', 'both@example.org');
    const before = (await readEntries()).length;
    const stop = api().state.addJob(unclaimedUsersJob(api().state, clock, 'automatic'));
    const remaining = (): number => api().state.snapshot.list(users, 'unclaimed', UNCLAIMED).length;
    await admin('DELETE', '/organizations/crowd');
    await until('the users without an organization are deleted', () => {
      clock.advance(INVITED_INTERVAL_MS);
      return remaining() === 1;
    });
    stop();
    assert.ok(exists('both@example.org'));
    const entries = (await readEntries()).slice(before);
    assert.equal(entries.length, 2 * JOB_BATCH_ROWS);
    assert.ok(entries.every(({ actor, organizationId }) => actor === SYSTEM.actor && organizationId === undefined));
  });
});
