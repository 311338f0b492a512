/**
 * What access to a workspace is: levels, attributes, what implies what, and how a change of level changes attributes.
 * Pure; the tables of team-access-decisions ("Access levels") as data. Attributes have their names on the wire.
 */

export const ACCESS_LEVELS = ['read', 'plan', 'write', 'admin', 'custom'] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];
/** A level whose attributes are given by it. */
export type FixedLevel = Exclude<AccessLevel, 'custom'>;

interface AttributeDefinition {
  /** How messages name it. */
  readonly label: string;
  /** From the lowest to the highest. */
  readonly values: readonly (string | boolean)[];
}

/** Every attribute with its values in order. `policy-overrides` is told and taken with `compat = terraform` only. */
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

/** The names, in the order of the documents. */
export const ATTRIBUTE_NAMES = Object.keys(ATTRIBUTES) as readonly AttributeName[];

/** What each fixed level implies. */
export const IMPLIED: Readonly<Record<FixedLevel, Attributes>> = {
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

/** What an attribute of a new `custom` access is when it is not given. */
const CUSTOM_DEFAULTS: Attributes = {
  runs: 'read',
  variables: 'none',
  'state-versions': 'none',
  'policy-mocks': 'none',
  'workspace-locking': false,
  'run-tasks': false,
  'policy-overrides': false,
};

/** Access as it is kept: the attributes only where the level does not give them. */
export type Access = { readonly access: FixedLevel } | { readonly access: 'custom'; readonly custom: Attributes };

/** What a request wants changed; what it leaves out stays. */
export interface AccessChange {
  readonly access?: AccessLevel;
  readonly attributes: Partial<Attributes>;
}

/** All attributes of an access. */
export const attributesOf = (access: Access): Attributes =>
  access.access === 'custom' ? access.custom : IMPLIED[access.access];

/** The place of a value in its attribute's order, from 0; -1 when it is none of its values. */
export const rankOf = (name: AttributeName, value: unknown): number =>
  (ATTRIBUTES[name].values as readonly unknown[]).indexOf(value);

/** The attributes of a change that may not be set: those of a level which gives them itself, whatever their values. */
export const readOnlyAttributes = (level: AccessLevel, given: Partial<Attributes>): readonly AttributeName[] =>
  level === 'custom' ? [] : ATTRIBUTE_NAMES.filter((name) => given[name] !== undefined);

/** A new access. The change gives no read-only attribute: see `readOnlyAttributes`. */
export function createdAccess(level: AccessLevel, given: Partial<Attributes>): Access {
  return level === 'custom' ? { access: level, custom: { ...CUSTOM_DEFAULTS, ...given } } : { access: level };
}

/**
 * An access after a change. A fixed level overwrites all attributes with its own; `custom` keeps them as they stand and
 * then applies those given. So custom → read → custom shows what read implies.
 */
export function changedAccess(before: Access, { access: level = before.access, attributes }: AccessChange): Access {
  return level === 'custom' ? { access: level, custom: { ...attributesOf(before), ...attributes } } : { access: level };
}
