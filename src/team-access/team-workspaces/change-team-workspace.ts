/**
 * Creates, updates and deletes rows of `team-workspaces` for the endpoints, operations and complete sets. Every change
 * adds its audit entry in the same commit [TEAM-98]. A background job deletes expired rows.
 */

import { isDeepStrictEqual } from 'node:util';
import { type Origin, SYSTEM } from '../../audit/record.ts';
import { newId } from '../../credentials/ids-and-secrets.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { expiryJob } from '../../state/jobs/expiry.ts';
import type { Job } from '../../state/jobs/placement.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { State } from '../../state/state.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { recordTeamAccessChange } from '../audit.ts';
import type { Caller, CallerRole } from '../authorization/caller.ts';
import { checkRowOutlasts } from '../authorization/compare-team.ts';
import { visibleTeam } from '../authorization/find-visible.ts';
import { accessToJson, TEAM_WORKSPACES, teamWorkspaceDocument } from '../documents/team-workspace-to-json.ts';
import type { WriteContext } from '../http/request-pipeline.ts';
import type { Precondition } from '../jsonapi/documents.ts';
import { type ErrorObject, JsonApiError, notFound, throwErrors } from '../jsonapi/errors.ts';
import type { ParsedResource, ResourceSpec } from '../jsonapi/read-resource.ts';
import { EXPIRED_BATCH } from '../limits.ts';
import { type Team, teams } from '../tables/team.ts';
import {
  type Access,
  type BaseAccess,
  changeAccess,
  restoredRow,
  type TeamWorkspace,
  teamWorkspacePair,
  teamWorkspaces,
} from '../tables/team-workspace.ts';
import { workspaces } from '../tables/workspace.ts';
import {
  type AdministeredWorkspace,
  administeredWorkspace,
  type ChangeableRow,
  changeableRow,
  type FoundRow,
} from './find-rows.ts';
import { type NewAccess, readAccess, readNewAccess } from './read-access.ts';

export const NEW_TEAM_WORKSPACE: ResourceSpec = {
  type: TEAM_WORKSPACES,
  relationships: [
    { name: 'team', type: 'teams', label: 'Team' },
    { name: 'workspace', type: 'workspaces', label: 'Workspace' },
  ],
};

export const teamWorkspaceUpdate = (id: string): ResourceSpec => ({
  type: TEAM_WORKSPACES,
  updates: id,
  relationships: [
    { name: 'team', type: 'teams' },
    { name: 'workspace', type: 'workspaces' },
  ],
});

const TEAM_POINTER = '/data/relationships/team';

/**
 * Creates a row. The checks run in the order of [TEAM-29], so that no error reveals what the caller may not know.
 * @throws JsonApiError `not-found`, `invalid-attribute`
 */
export function createTeamWorkspace(
  context: WriteContext,
  { attributes, relationships }: ParsedResource,
  terraform: boolean,
): FoundRow {
  const { tx, caller } = context;
  const teamId = relationships.get('team') ?? '';
  const workspaceId = relationships.get('workspace') ?? '';
  const found = administeredWorkspace(tx, caller, workspaceId);
  const team = teamForWorkspace(tx, caller, found.role, teamId);
  const values = readNewAccess(attributes, { terraform, now: tx.now });
  throwErrors(unsuitableTeamErrors(found.role, team, TEAM_POINTER));
  const existing = tx.find(teamWorkspaces, 'pair', teamWorkspacePair(teamId, workspaceId))?.row;
  if (existing !== undefined) {
    const detail = 'Team has already been taken';
    const meta = { 'existing-id': existing.id };
    throw new JsonApiError([{ code: 'invalid-attribute', detail, pointer: TEAM_POINTER, meta }]);
  }
  return addRow(context, found, teamId, values);
}

/**
 * Returns the team that a workspace admin names: any team of the workspace's organization [AUTHZ-24], or a team of
 * another organization that the caller can see [AUTHZ-25]. The second kind lets the server answer 422 instead of 404.
 * @throws JsonApiError `not-found`
 */
export function teamForWorkspace(
  reader: Reader,
  caller: Caller,
  { organization }: CallerRole,
  teamId: string,
): DeepReadonly<Team> {
  const team = reader.get(teams, teamId)?.row;
  // A missing team is looked up as well, so that missing and hidden teams cost the same lookups [AUTHZ-13].
  const known = team?.organizationId === organization.id ? team : visibleTeam(reader, caller, teamId)?.team;
  if (known === undefined) throw notFound();
  return known;
}

/** Returns an error if the team cannot have a row on workspaces of the organization [TEAM-44, TEAM-45]. */
export function unsuitableTeamErrors(
  { organization }: CallerRole,
  team: DeepReadonly<Team>,
  pointer: string,
): ErrorObject[] {
  const error = (detail: string): ErrorObject[] => [{ code: 'invalid-attribute', detail, pointer }];
  if (team.organizationId !== organization.id) return error("Team must belong to the workspace's organization");
  if (team.id !== organization.ownersTeamId) return [];
  return error('Team must not be owners, which has admin access to every workspace');
}

export interface RowTarget {
  readonly id: string;
  readonly precondition: Precondition;
  readonly terraform: boolean;
}

/** Checks in the order of [TEAM-30]. @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed` */
export function changeTeamWorkspace(
  context: WriteContext,
  { id, precondition, terraform }: RowTarget,
  { attributes, relationships }: ParsedResource,
): FoundRow {
  const { tx, caller } = context;
  const found = changeableRow(tx, caller, id);
  const before = found.row;
  const errors = relationshipErrors(before, relationships);
  const body = readAccess(attributes, { terraform, now: tx.now, level: before.access, errors });
  precondition(() => teamWorkspaceDocument(found, terraform));
  const expiresAtMs = body.expiresAtMs === undefined ? before.expiresAtMs : (body.expiresAtMs ?? undefined);
  const access = changeAccess(before, body);
  const changesAccess = Object.hasOwn(attributes, 'access') || Object.keys(body.attributes).length > 0;
  const base = changesAccess ? baseAfter(before, access, body.expiresAtMs) : before.base;
  return changeRow(context, found, { access, expiresAtMs, base: base && outlasting(base, expiresAtMs) });
}

/**
 * Returns the access that a row returns to after its access was changed. A change with an expiry time is temporary, so
 * the row returns to what it was. A change without one replaces the access that a temporary change returns to.
 */
function baseAfter(before: Row, access: Access, expiresAtMs: number | null | undefined): BaseAccess | undefined {
  if (typeof expiresAtMs === 'number') return before.base ?? toBase(before, before.expiresAtMs);
  return before.base === undefined ? undefined : toBase(access, before.base.expiresAtMs);
}

const toBase = (access: DeepReadonly<Access>, expiresAtMs: number | undefined): BaseAccess => ({
  ...(access.access === 'custom' ? { access: access.access, custom: access.custom } : { access: access.access }),
  ...(expiresAtMs !== undefined && { expiresAtMs }),
});

/** Returns a base access unless it ends before the row does, or the row does not end. */
const outlasting = (base: BaseAccess, rowEndMs: number | undefined): BaseAccess | undefined =>
  rowEndMs !== undefined && (base.expiresAtMs ?? Number.POSITIVE_INFINITY) > rowEndMs ? base : undefined;

/** Returns complete values of a row. A row that they leave as it is keeps the access that it returns to. */
export const withUnchangedBase = (before: Row, values: NewAccess): RowValues => {
  const isUnchanged =
    before.expiresAtMs === values.expiresAtMs && isDeepStrictEqual(toBase(before, undefined), values.access);
  return { ...values, base: isUnchanged ? before.base : undefined };
};

/** The values of a row after a change. */
interface RowValues extends NewAccess {
  readonly base: BaseAccess | undefined;
}

/** Deletes a row. @throws JsonApiError `not-found`, `precondition-failed` */
export function deleteTeamWorkspace(context: WriteContext, { id, precondition, terraform }: RowTarget): void {
  const found = changeableRow(context.tx, context.caller, id);
  precondition(() => teamWorkspaceDocument(found, terraform));
  removeRow(context, found);
}

/** Rejects an update that names another team or workspace [TEAM-47]. */
function relationshipErrors(
  { teamId, workspaceId }: FoundRow['row'],
  relationships: ParsedResource['relationships'],
): ErrorObject[] {
  const errors: ErrorObject[] = [];
  for (const [name, label, id] of [
    ['team', 'Team', teamId],
    ['workspace', 'Workspace', workspaceId],
  ] as const) {
    if ((relationships.get(name) ?? id) === id) continue;
    errors.push({
      code: 'invalid-attribute',
      detail: `${label} can't be changed`,
      pointer: `/data/relationships/${name}`,
    });
  }
  return errors;
}

type Row = DeepReadonly<TeamWorkspace>;
type RowWrite = Pick<WriteContext, 'tx' | 'origin'>;

/** Adds a row for a team that has no row on the workspace yet. @throws JsonApiError `forbidden` [AUTHZ-86] */
export function addRow(
  { tx, origin }: RowWrite,
  found: AdministeredWorkspace,
  teamId: string,
  values: NewAccess,
): FoundRow {
  // The new row could replace an expired row of the same pair, which would then have no audit entry [TEAM-59].
  const pair = teamWorkspacePair(teamId, found.workspace.id);
  for (const expired of tx.deleteExpired(teamWorkspaces, EXPIRED_BATCH)) {
    endRow(tx, expired, { isReplaced: teamWorkspacePair(expired.row.teamId, expired.row.workspaceId) === pair });
  }
  const id = tx.memoizeAcrossRetries(() => newId('tws'));
  const row = buildRow({ id, teamId, workspaceId: found.workspace.id, place: tx.position }, values);
  checkRowOutlasts(found.adminEndMs, row, undefined);
  tx.put(teamWorkspaces, row);
  recordRow(tx, origin, found.role.organization.id, 'add_team', { after: row });
  return { ...found, row };
}

/**
 * Updates a row. Returns `found` itself and writes nothing if the row already has these values [TEAM-15].
 * @throws JsonApiError `forbidden` [AUTHZ-86]
 */
export function changeRow({ tx, origin }: RowWrite, found: ChangeableRow, values: RowValues): FoundRow {
  const before = found.row;
  const row = buildRow(before, values);
  if (isDeepStrictEqual(row, before)) return found;
  checkRowOutlasts(found.adminEndMs, row, before);
  const restored = restoredRow(row);
  if (restored !== undefined) checkRowOutlasts(found.adminEndMs, restored, restoredRow(before) ?? before);
  tx.put(teamWorkspaces, row);
  recordRow(tx, origin, found.role.organization.id, 'update_team_permissions', { before, after: row });
  return { ...found, row };
}

export function removeRow({ tx, origin }: RowWrite, { row, role }: FoundRow): void {
  tx.delete(teamWorkspaces, row.id);
  recordRow(tx, origin, role.organization.id, 'remove_team', { before: row });
}

/**
 * The background job that deletes expired rows, or returns them to their earlier access [TEAM-59]. Readers have not seen
 * them since they expired.
 */
export const rowExpiryJob = (state: State, clock: Clock): Job =>
  expiryJob(state, teamWorkspaces, clock, (tx, expired) => endRow(tx, expired, { isReplaced: false }));

/** Restores the earlier access of a deleted row, unless a new row replaces it, and records the end of the row. */
function endRow(
  tx: Transaction,
  { row }: Stored<TeamWorkspace>,
  { isReplaced }: { readonly isReplaced: boolean },
): void {
  const workspace = tx.get(workspaces, row.workspaceId)?.row;
  // The deletion of the workspace has an entry, which covers its rows [TEAM-103].
  if (workspace === undefined) return;
  const restored = isReplaced || tx.get(teams, row.teamId) === undefined ? undefined : restoredRow(row);
  const isLasting = restored !== undefined && (restored.expiresAtMs ?? Number.POSITIVE_INFINITY) > tx.now;
  if (isLasting) tx.put(teamWorkspaces, restored);
  recordRow(tx, SYSTEM, workspace.organizationId, 'expire', { before: row, ...(isLasting && { after: restored }) });
}

const buildRow = (
  { id, teamId, workspaceId, place }: Pick<TeamWorkspace, 'id' | 'teamId' | 'workspaceId' | 'place'>,
  { access, expiresAtMs, base }: NewAccess & { readonly base?: BaseAccess | undefined },
): TeamWorkspace => ({
  ...access,
  id,
  teamId,
  workspaceId,
  ...(expiresAtMs !== undefined && { expiresAtMs }),
  ...(base !== undefined && { base }),
  place,
});

/** Adds an audit entry for a row of the organization. At least one of `before` and `after` is present. */
function recordRow(
  tx: Transaction,
  origin: Origin,
  organizationId: string,
  action: 'add_team' | 'update_team_permissions' | 'remove_team' | 'expire',
  { before, after }: { readonly before?: Row; readonly after?: Row },
): void {
  recordTeamAccessChange(tx, origin, {
    organizationId,
    action,
    type: TEAM_WORKSPACES,
    subject: (after ?? before)?.id ?? '',
    before: before === undefined ? null : auditedRow(before),
    after: after === undefined ? null : auditedRow(after),
  });
}

/** Returns a row with the attribute names of `compat = terraform`, whatever the setting is now [TEAM-102]. */
const auditedRow = (row: Row) => ({
  team: row.teamId,
  workspace: row.workspaceId,
  permissions: accessToJson(row, true),
});
