/**
 * Writes in flight while the caller loses access. Each write authorizes the caller in its own transaction, so the
 * writes committed after the revocation are rejected [TEAM-25].
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AuditEntry, auditLog, indexOfAuditKey } from '../../src/audit/record.ts';
import { teams } from '../../src/team-access/tables/team.ts';
import { type Api, sharedApi } from '../support/process/api.ts';
import { addToTeam, join, makeUser } from '../support/team-access/organization-fixture.ts';
import {
  documentOf,
  makeOrganization,
  type ResourceObject,
  request,
  resource,
} from '../support/team-access/team-access.ts';

/** Half of them start before the revocation. */
const CONCURRENT_WRITES = 30;

interface Revocation {
  readonly event: string;
  /** The status of later writes. */
  readonly status: 401 | 404;
  /** Creates a caller who may create teams. @returns its token, and a function that revokes the access */
  readonly prepare: (
    api: Api,
    organization: string,
  ) => Promise<{
    readonly token: string;
    readonly revoke: () => Promise<{ readonly status: number }>;
    /** Whether an audit entry is that of the revocation. */
    readonly isRevocationEntry: (entry: Pick<AuditEntry, 'type' | 'action'>) => boolean;
  }>;
}

const secondOwner = async (api: Api, organization: string) => {
  const user = await makeUser(api, `${organization}-second`);
  const membership = await join(api, api.adminToken, organization, user.username);
  const owners = `/organizations/${organization}/teams?filter[names]=owners`;
  const team = documentOf<ResourceObject[]>(await request(api, api.adminToken, 'GET', owners)).data[0]?.id ?? '';
  await addToTeam(api, api.adminToken, team, user.username);
  return { ...user, membership, team };
};

const revocations: readonly Revocation[] = [
  {
    event: 'deletion of their token',
    status: 401,
    async prepare(api, organization) {
      const { id, token } = await secondOwner(api, organization);
      const path = `/users/${id}/authentication-tokens`;
      const own = documentOf<ResourceObject[]>(await request(api, token, 'GET', path)).data[0]?.id;
      return {
        token,
        revoke: () => request(api, token, 'DELETE', `/authentication-tokens/${own}`),
        isRevocationEntry: ({ type, action }) => type === 'authentication-tokens' && action === 'destroy',
      };
    },
  },
  {
    event: "replacement of the organization's token",
    status: 401,
    async prepare(api, organization) {
      const path = `/organizations/${organization}/authentication-token`;
      const make = () => request(api, api.adminToken, 'POST', path);
      return {
        token: String(documentOf(await make()).data.attributes['token']),
        revoke: make,
        isRevocationEntry: ({ type, action }) => type === 'authentication-tokens' && action === 'destroy',
      };
    },
  },
  {
    event: 'removal from the owners team',
    status: 404,
    async prepare(api, organization) {
      const { token, team, username } = await secondOwner(api, organization);
      const body = { data: [{ type: 'users', id: username }] };
      return {
        token,
        revoke: () => request(api, api.adminToken, 'DELETE', `/teams/${team}/relationships/users`, { body }),
        isRevocationEntry: ({ type, action }) => type === 'team-members' && action === 'destroy',
      };
    },
  },
  {
    event: 'removal from the organization',
    status: 404,
    async prepare(api, organization) {
      const { token, membership } = await secondOwner(api, organization);
      return {
        token,
        revoke: () => request(api, api.adminToken, 'DELETE', `/organization-memberships/${membership}`),
        isRevocationEntry: ({ type, action }) => type === 'organization-memberships' && action === 'destroy',
      };
    },
  },
];

describe('writes of a caller are rejected from the commit of the [TEAM-25] [AUTHZ-7]', () => {
  const api = sharedApi();
  for (const [i, { event, status, prepare }] of revocations.entries()) {
    test(event, async () => {
      const name = `organization-${i}`;
      const { attributes } = await makeOrganization(api(), api().adminToken, name);
      const id = String(attributes['external-id']);
      const { token, revoke, isRevocationEntry } = await prepare(api(), name);
      const createTeam = async (team: string) => {
        const body = resource('teams', { name: team });
        const answer = await request(api(), token, 'POST', `/organizations/${name}/teams`, { body });
        assert.ok(answer.status === 200 || answer.status === status, answer.text);
        return answer.status === 200 ? [team] : [];
      };
      assert.deepEqual(await createTeam('before'), ['before']);
      const half = (from: number) =>
        Array.from({ length: CONCURRENT_WRITES / 2 }, (_, n) => createTeam(`team-${from + n}`));
      const [earlier, revoked, later] = await Promise.all([
        Promise.all(half(0)),
        revoke(),
        Promise.all(half(CONCURRENT_WRITES / 2)),
      ]);
      assert.ok(revoked.status < 300);
      assert.deepEqual(await createTeam('after'), []);

      const created = api()
        .state.snapshot.list(teams, 'organization', id)
        .filter(({ row }) => row.name !== 'owners');
      const names = created.map(({ row }) => row.name);
      assert.deepEqual(names.toSorted(), ['before', ...earlier.flat(), ...later.flat()].toSorted());
      const log = await api().state.scan(auditLog, { limit: 10_000 }, new AbortController().signal);
      const last = log.findLast(({ row }) => (row.organizationId ?? id) === id && isRevocationEntry(row));
      assert.ok(last !== undefined);
      for (const { createIndex } of created) assert.ok(createIndex <= indexOfAuditKey(last.row.id));
    });
  }
});
