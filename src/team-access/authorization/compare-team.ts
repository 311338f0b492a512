/**
 * Compares what a team grants with what the caller has, so that no caller gains access by joining, changing or inviting
 * into a team [AUTHZ-44]. A comparison counts its lookups, because a team can have rows on tens of thousands of
 * workspaces and one request can name thousands of teams.
 */
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { COMPARED_LOOKUPS_MAX } from '../limits.ts';
import type { OrganizationPermission } from '../tables/organization-access.ts';
import type { Team } from '../tables/team.ts';
import {
  type Access,
  ATTRIBUTE_NAMES,
  attributesOf,
  rankOf,
  restoredRow,
  type TeamWorkspace,
  teamWorkspaces,
} from '../tables/team-workspace.ts';
import { accessContributions, type CallerRole } from './caller.ts';
import { type Contribution, effectiveAccess } from './effective-access.ts';
import { isInTeam, lackedPermission } from './permissions.ts';

type AnyTeam = DeepReadonly<Team>;
type AnyRow = DeepReadonly<TeamWorkspace>;

/** The lookups that the comparisons of one request or document may still make. */
export interface ComparisonBudget {
  lookups: number;
}

export const comparisonBudget = (): ComparisonBudget => ({ lookups: COMPARED_LOOKUPS_MAX });

const PAGE_ROWS = 100;

/**
 * Rejects the exercise of a permission on a team that grants more than the caller has, by its organization permissions
 * or by its rows. @throws JsonApiError `forbidden` with the reason
 */
export function checkTeamWithinRole(
  reader: Reader,
  role: CallerRole,
  team: AnyTeam,
  budget: ComparisonBudget = comparisonBudget(),
): void {
  checkPermissionsHeld(role, team.organizationAccess, `the team '${team.name}' has`);
  const reason = excessOfRows(reader, role, team, budget);
  if (reason !== undefined) throw forbidden(reason);
}

/** Whether a team grants nothing that the caller lacks. False also when the budget is used up. */
export const isTeamWithinRole = (reader: Reader, role: CallerRole, team: AnyTeam, budget: ComparisonBudget): boolean =>
  lackedPermission(role, team.organizationAccess) === undefined &&
  excessOfRows(reader, role, team, budget) === undefined;

/** @throws JsonApiError `forbidden` that begins with `subject` and names a permission that the caller lacks */
export function checkPermissionsHeld(
  role: CallerRole,
  wanted: readonly OrganizationPermission[],
  subject: string,
): void {
  const lacked = lackedPermission(role, wanted);
  if (lacked === undefined) return;
  throw forbidden(`${subject} the organization permission '${lacked}', which you do not have`);
}

export const forbidden = (detail: string): JsonApiError => new JsonApiError([{ code: 'forbidden', detail }]);

/** Returns why the caller has less than the rows of a team, or `undefined` when the caller has as much. */
function excessOfRows(
  reader: Reader,
  role: CallerRole,
  { id, name }: AnyTeam,
  budget: ComparisonBudget,
): string | undefined {
  // Owners and `manage-workspaces` have admin on every workspace, and a member of the team has what its rows grant.
  if (role.permissions.has('manage-workspaces') || isInTeam(role, id)) return undefined;
  for (let after = ''; ; ) {
    const page = reader.list(teamWorkspaces, 'team', id, { after, limit: PAGE_ROWS });
    for (const { row } of page) {
      const restored = restoredRow(row);
      budget.lookups -= 1 + role.teams.length * (restored === undefined ? 1 : 2);
      if (budget.lookups < 0) return tooManyLookups(name);
      if (!coversRow(reader, role, row) || (restored !== undefined && !coversRow(reader, role, restored))) {
        return `the team '${name}' has access to a workspace that you do not have, or has it for longer than you`;
      }
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) return undefined;
    after = last.row.id;
  }
}

const tooManyLookups = (name: string): string =>
  `comparing your access with that of the team '${name}' takes more than ${COMPARED_LOOKUPS_MAX} lookups: ` +
  'name fewer teams, or ask an owner or a member with manage-workspaces, whose requests need no comparison';

/** Whether the caller has at least the access of a row, and at least until the row expires. */
function coversRow(reader: Reader, role: CallerRole, row: AnyRow): boolean {
  const endMs = row.expiresAtMs ?? Number.POSITIVE_INFINITY;
  const lasting = accessContributions(reader, role, row.workspaceId).filter((one) => endOf(one) >= endMs);
  const held = effectiveAccess(lasting);
  return held !== undefined && (held.access === 'admin' || isAtMost(row, held.attributes));
}

/** Returns when a contribution ends, in milliseconds since 1970, or infinity. */
const endOf = ({ source }: Contribution): number =>
  (source.kind === 'team-workspace' ? source.expiresAtMs : undefined) ?? Number.POSITIVE_INFINITY;

const isAtMost = (access: Access, highest: ReturnType<typeof attributesOf>): boolean =>
  access.access !== 'admin' &&
  ATTRIBUTE_NAMES.every((name) => rankOf(name, attributesOf(access)[name]) <= rankOf(name, highest[name]));

/** Returns when the caller's admin access to a workspace ends, in milliseconds since 1970, or infinity. */
export function adminAccessEndMs(reader: Reader, role: CallerRole, workspaceId: string): number {
  if (role.permissions.has('manage-workspaces')) return Number.POSITIVE_INFINITY;
  return accessContributions(reader, role, workspaceId)
    .filter(({ access }) => access.access === 'admin')
    .reduce((latest, one) => Math.max(latest, endOf(one)), 0);
}

/**
 * Rejects a row that outlasts the admin access of the caller who writes it, because the caller would keep access by it
 * [AUTHZ-86]. A row that grants no more and lasts no longer than before is always allowed.
 * @throws JsonApiError `forbidden`
 */
export function checkRowOutlasts(endMs: number, row: AnyRow, before: AnyRow | undefined): void {
  const rowEndMs = row.expiresAtMs ?? Number.POSITIVE_INFINITY;
  if (rowEndMs <= endMs) return;
  if (before !== undefined && rowEndMs <= (before.expiresAtMs ?? Number.POSITIVE_INFINITY)) {
    if (before.access === 'admin' || isAtMost(row, attributesOf(before))) return;
  }
  const end = new Date(endMs).toISOString();
  throw forbidden(`your admin access to the workspace ends at ${end}: give the row an expires-at that is not later`);
}
