/**
 * Team access: the access of one team to one workspace ([TEAM-2]). First the access itself, which is the tables of
 * [TEAM-6] to [TEAM-8] as data: levels, attributes, and the effect of a change of level. Then the table of rows.
 */
import { type DeepReadonly, defineTable } from '../../state/table.ts';
import { teams } from './team.ts';
import { workspaces } from './workspace.ts';

export const ACCESS_LEVELS = ['read', 'plan', 'write', 'admin', 'custom'] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];
/** A level that determines all attributes. */
export type FixedLevel = Exclude<AccessLevel, 'custom'>;

interface AttributeDefinition {
  /** Name in error messages. */
  readonly label: string;
  /** From lowest to highest. */
  readonly values: readonly (string | boolean)[];
}

/** All attributes. Documents contain `policy-overrides` only with `compat = terraform` ([TEAM-110]). */
export const ATTRIBUTES = {
  runs: { label: 'Runs', values: ['read', 'plan', 'apply'] },
  variables: { label: 'Variables', values: ['none', 'read', 'write'] },
  'state-versions': { label: 'State versions', values: ['none', 'read-outputs', 'read', 'write'] },
  'policy-mocks': { label: 'Policy mocks', values: ['none', 'read'] },
  'workspace-locking': { label: 'Workspace locking', values: [false, true] },
  'run-tasks': { label: 'Run tasks', values: [false, true] },
  'policy-overrides': { label: 'Policy overrides', values: [false, true] },
} as const satisfies Readonly<Record<string, AttributeDefinition>>;

export type AttributeName = keyof typeof ATTRIBUTES;
export type Attributes = { readonly [Name in AttributeName]: (typeof ATTRIBUTES)[Name]['values'][number] };

/** Attribute names, in document order. */
export const ATTRIBUTE_NAMES = Object.keys(ATTRIBUTES) as readonly AttributeName[];

/** Attributes of each fixed level ([TEAM-8]). */
export const LEVEL_ATTRIBUTES: Readonly<Record<FixedLevel, Attributes>> = {
  read: {
    runs: 'read',
    variables: 'read',
    'state-versions': 'read',
    'policy-mocks': 'none',
    'workspace-locking': false,
    'run-tasks': false,
    'policy-overrides': false,
  },
  plan: {
    runs: 'plan',
    variables: 'read',
    'state-versions': 'read',
    'policy-mocks': 'none',
    'workspace-locking': false,
    'run-tasks': false,
    'policy-overrides': false,
  },
  write: {
    runs: 'apply',
    variables: 'write',
    'state-versions': 'write',
    'policy-mocks': 'read',
    'workspace-locking': true,
    'run-tasks': false,
    'policy-overrides': false,
  },
  admin: {
    runs: 'apply',
    variables: 'write',
    'state-versions': 'write',
    'policy-mocks': 'read',
    'workspace-locking': true,
    'run-tasks': true,
    'policy-overrides': true,
  },
};

const CUSTOM_DEFAULTS: Attributes = {
  runs: 'read',
  variables: 'none',
  'state-versions': 'none',
  'policy-mocks': 'none',
  'workspace-locking': false,
  'run-tasks': false,
  'policy-overrides': false,
};

/** Stored access. Contains attributes only when the level does not determine them. */
export type Access = { readonly access: FixedLevel } | { readonly access: 'custom'; readonly custom: Attributes };

/** A requested change. Omitted members keep their values. */
export interface AccessChange {
  readonly access?: AccessLevel;
  readonly attributes: Partial<Attributes>;
}

export const attributesOf = (access: Access): Attributes =>
  access.access === 'custom' ? access.custom : LEVEL_ATTRIBUTES[access.access];

/** Returns the rank of a value in its attribute's order, from 0, or -1 for an unknown value. */
export const rankOf = (name: AttributeName, value: unknown): number =>
  (ATTRIBUTES[name].values as readonly unknown[]).indexOf(value);

/** Returns a new access. Callers pass attributes only with `custom` ([TEAM-11]). */
export function createAccess(level: AccessLevel, attributes: Partial<Attributes>): Access {
  return level === 'custom' ? { access: level, custom: { ...CUSTOM_DEFAULTS, ...attributes } } : { access: level };
}

/**
 * Returns an access after a change. A fixed level replaces all attributes. `custom` keeps the current attributes and
 * applies the given ones, so custom → read → custom results in the attributes of `read` ([TEAM-12], [TEAM-13]).
 */
export function changeAccess(before: Access, { access: level = before.access, attributes }: AccessChange): Access {
  return level === 'custom' ? { access: level, custom: { ...attributesOf(before), ...attributes } } : { access: level };
}

/** The access that a row returns to when it expires. Its own expiry time, if it has one, is later than the row's. */
export type BaseAccess = Access & { readonly expiresAtMs?: number };

/** A row. Contains attributes only for `custom`; `attributesOf` returns all of them. */
export type TeamWorkspace = Access & {
  /** `tws-` and 16 letters or digits. */
  readonly id: string;
  readonly teamId: string;
  readonly workspaceId: string;
  /** Time from which the row does not exist, in milliseconds since 1970. Absent when it does not expire. */
  readonly expiresAtMs?: number;
  /** Present only with `expiresAtMs`. */
  readonly base?: BaseAccess;
  /** Position within its commit, because lists are in order of creation. */
  readonly place: number;
};

export const teamWorkspaces = defineTable<TeamWorkspace>()({
  name: 'team-workspaces',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {
    team: { entry: (row) => row.teamId },
    workspace: { entry: (row) => row.workspaceId },
    pair: { entry: ({ teamId, workspaceId }) => teamWorkspacePair(teamId, workspaceId), unique: true },
  },
  owners: [
    { table: teams, index: 'team' },
    { table: workspaces, index: 'workspace' },
  ],
  countsToward: [{ table: teams, key: (row) => row.teamId }],
  expiresAt: (row) => row.expiresAtMs,
});

/** Returns the index entry for a team's row on a workspace. */
export const teamWorkspacePair = (teamId: string, workspaceId: string): string => `${teamId}/${workspaceId}`;

/** Returns the row that replaces an expired row, if the row returns to an earlier access ([TEAM-58]). */
export function restoredRow({
  id,
  teamId,
  workspaceId,
  place,
  base,
}: DeepReadonly<TeamWorkspace>): DeepReadonly<TeamWorkspace> | undefined {
  return base === undefined ? undefined : { ...base, id, teamId, workspaceId, place };
}
