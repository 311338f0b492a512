/**
 * What a caller may is looked up in the commit itself: writes that were let in before a token was revoked, or its holder
 * lost what they held, are refused when their turn comes after that.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AuditEntry, auditLog, indexOfAuditKey } from '../../src/audit/record.ts';
import { teams } from '../../src/team-access/tables/team.ts';
import { type Api, sharedApi } from '../support/process/api.ts';
import { makeOrganization, request, resource, type Shown, shown } from '../support/team-access/team-access.ts';
import { addToTeam, join, makeUser } from '../support/team-access/team-access-world.ts';

/** Writes under way when the end comes. */
const WRITES = 30;

interface Ending {
  readonly what: string;
  /** How those are refused who come after. */
  readonly status: 401 | 404;
  /** Makes somebody who may make teams. @returns their token, and what ends it with the entry that this leaves */
  readonly begin: (
    api: Api,
    organization: string,
  ) => Promise<{
    readonly token: string;
    readonly end: () => Promise<{ readonly status: number }>;
    readonly entry: (entry: Pick<AuditEntry, 'type' | 'action'>) => boolean;
  }>;
}

const secondOwner = async (api: Api, organization: string) => {
  const user = await makeUser(api, `${organization}-second`);
  const membership = await join(api, api.adminToken, organization, user.username);
  const owners = `/organizations/${organization}/teams?filter[names]=owners`;
  const team = shown<Shown[]>(await request(api, api.adminToken, 'GET', owners)).data[0]?.id ?? '';
  await addToTeam(api, api.adminToken, team, user.username);
  return { ...user, membership, team };
};

const endings: readonly Ending[] = [
  {
    what: 'their token is revoked',
    status: 401,
    async begin(api, organization) {
      const { id, token } = await secondOwner(api, organization);
      const path = `/users/${id}/authentication-tokens`;
      const own = shown<Shown[]>(await request(api, token, 'GET', path)).data[0]?.id;
      return {
        token,
        end: () => request(api, token, 'DELETE', `/authentication-tokens/${own}`),
        entry: ({ type, action }) => type === 'authentication-tokens' && action === 'destroy',
      };
    },
  },
  {
    what: "the organization's token is made again",
    status: 401,
    async begin(api, organization) {
      const path = `/organizations/${organization}/authentication-token`;
      const make = () => request(api, api.adminToken, 'POST', path);
      return {
        token: String(shown(await make()).data.attributes['token']),
        end: make,
        entry: ({ type, action }) => type === 'authentication-tokens' && action === 'destroy',
      };
    },
  },
  {
    what: 'they are taken out of the owners',
    status: 404,
    async begin(api, organization) {
      const { token, team, username } = await secondOwner(api, organization);
      const body = { data: [{ type: 'users', id: username }] };
      return {
        token,
        end: () => request(api, api.adminToken, 'DELETE', `/teams/${team}/relationships/users`, { body }),
        entry: ({ type, action }) => type === 'team-members' && action === 'destroy',
      };
    },
  },
  {
    what: 'they are taken out of the organization',
    status: 404,
    async begin(api, organization) {
      const { token, membership } = await secondOwner(api, organization);
      return {
        token,
        end: () => request(api, api.adminToken, 'DELETE', `/organization-memberships/${membership}`),
        entry: ({ type, action }) => type === 'organization-memberships' && action === 'destroy',
      };
    },
  },
];

describe('writes of somebody are refused from the commit on in which', () => {
  const api = sharedApi();
  for (const [i, { what, status, begin }] of endings.entries()) {
    test(what, async () => {
      const name = `organization-${i}`;
      const { attributes } = await makeOrganization(api(), api().adminToken, name);
      const id = String(attributes['external-id']);
      const { token, end, entry } = await begin(api(), name);
      const make = async (team: string) => {
        const body = resource('teams', { name: team });
        const answer = await request(api(), token, 'POST', `/organizations/${name}/teams`, { body });
        assert.ok(answer.status === 200 || answer.status === status, answer.text);
        return answer.status === 200 ? [team] : [];
      };
      assert.deepEqual(await make('before'), ['before']);
      const half = (from: number) => Array.from({ length: WRITES / 2 }, (_, n) => make(`team-${from + n}`));
      const [earlier, ended, later] = await Promise.all([Promise.all(half(0)), end(), Promise.all(half(WRITES / 2))]);
      assert.ok(ended.status < 300);
      assert.deepEqual(await make('after'), []);

      const made = api()
        .state.snapshot.list(teams, 'organization', id)
        .filter(({ row }) => row.name !== 'owners');
      const names = made.map(({ row }) => row.name);
      assert.deepEqual(names.toSorted(), ['before', ...earlier.flat(), ...later.flat()].toSorted());
      const log = await api().state.scan(auditLog, { limit: 10_000 }, new AbortController().signal);
      const last = log.findLast(({ row }) => (row.organizationId ?? id) === id && entry(row));
      assert.ok(last !== undefined);
      for (const { createIndex } of made) assert.ok(createIndex <= indexOfAuditKey(last.row.id));
    });
  }
});
