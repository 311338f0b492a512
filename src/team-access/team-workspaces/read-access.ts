/** Reads `access`, the attributes and `expires-at` of a row from a body [TEAM-6 to TEAM-14, TEAM-41 to TEAM-43]. */
import { Type } from 'typebox';
import { parseTime } from '../../credentials/parse-time.ts';
import {
  attributeLabel,
  attributeProperties,
  TEAM_WORKSPACES,
  type WireName,
  wireNames,
} from '../documents/team-workspace-to-json.ts';
import { attributeError, type ErrorObject, throwErrors } from '../jsonapi/errors.ts';
import { attributeValue, type RawAttributes } from '../jsonapi/read-resource.ts';
import { bodySchema, resourceBodySchema, toOne, toOneRequired } from '../jsonapi/schemas.ts';
import {
  ACCESS_LEVELS,
  type Access,
  type AccessChange,
  type AccessLevel,
  type AttributeName,
  type Attributes,
  createAccess,
  rankOf,
} from '../tables/team-workspace.ts';

export interface AccessBody extends AccessChange {
  /** Milliseconds since 1970. `null`: the row does not expire. `undefined`: the body does not contain it. */
  readonly expiresAtMs: number | null | undefined;
}

export interface NewAccess {
  readonly access: Access;
  /** Milliseconds since 1970. `undefined`: the row does not expire. */
  readonly expiresAtMs: number | undefined;
}

export interface ReadAccessOptions {
  readonly terraform: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The stored level in an update. Absent for a new row, which requires `access` [TEAM-41]. */
  readonly level?: AccessLevel;
  /** Errors that the caller has already found in this step of the checks. They are reported as well [TEAM-28]. */
  readonly errors?: readonly ErrorObject[];
}

/** Reads the access of a body and reports all of its errors. @throws JsonApiError `invalid-attribute` */
export function readAccess(
  attributes: RawAttributes,
  { terraform, now, level, errors: others = [] }: ReadAccessOptions,
): AccessBody {
  const errors: ErrorObject[] = [...others];
  const access = readLevel(attributes, level, errors);
  const values = readValues(attributes, access, terraform, errors);
  const expiresAtMs = readExpiry(attributes, now, errors);
  throwErrors(errors);
  return { ...(access !== undefined && { access }), attributes: values, expiresAtMs };
}

/** Reads the values of a new row [TEAM-8]. @throws JsonApiError `invalid-attribute` */
export function readNewAccess(
  attributes: RawAttributes,
  options: Pick<ReadAccessOptions, 'terraform' | 'now'>,
): NewAccess {
  const body = readAccess(attributes, options);
  // `readAccess` has rejected a body without a level.
  if (body.access === undefined) throw new TypeError('the body of a new row has no level');
  return { access: createAccess(body.access, body.attributes), expiresAtMs: body.expiresAtMs ?? undefined };
}

/** Returns the level of the body or else the stored one [TEAM-11], or adds an error and returns `undefined`. */
function readLevel(
  attributes: RawAttributes,
  stored: AccessLevel | undefined,
  errors: ErrorObject[],
): AccessLevel | undefined {
  const value = Object.hasOwn(attributes, 'access') ? attributes['access'] : undefined;
  if (value === undefined && stored !== undefined) return stored;
  if (value === undefined || value === null) {
    errors.push(attributeError('access', "Access can't be blank"));
    return undefined;
  }
  const level = ACCESS_LEVELS.find((known) => known === value);
  if (level === undefined) errors.push(attributeError('access', 'Access is not included in the list'));
  return level;
}

/** Reads the attributes other than `access`; null counts as not sent [TEAM-14]. */
function readValues(
  attributes: RawAttributes,
  level: AccessLevel | undefined,
  terraform: boolean,
  errors: ErrorObject[],
): Partial<Attributes> {
  const values: Partial<Record<AttributeName, unknown>> = {};
  for (const wireName of wireNames(terraform)) {
    const { name, wire } = wireName;
    const value = attributeValue(attributes, wire);
    if (value === undefined) continue;
    const label = attributeLabel(name, terraform);
    errors.push(...valueErrors(wireName, value, level, label));
    if (name in values && values[name] !== value) {
      errors.push(attributeError(wire, `${label} and policy-mocks must be the same when both are given`));
    }
    values[name] = value;
  }
  // An error was added for every value that its attribute cannot have.
  return values as Partial<Attributes>;
}

function valueErrors(
  { name, wire }: WireName,
  value: unknown,
  level: AccessLevel | undefined,
  label: string,
): ErrorObject[] {
  const errors: ErrorObject[] = [];
  if (rankOf(name, value) === -1) errors.push(attributeError(wire, `${label} is not included in the list`));
  if (level !== undefined && level !== 'custom') {
    const why = `${label} is read-only when access level is '${level}'`;
    errors.push(attributeError(wire, `${why}; use the 'custom' access level to set this attribute.`));
  }
  return errors;
}

/** Reads `expires-at` [TEAM-56, TEAM-57]. */
function readExpiry(attributes: RawAttributes, now: number, errors: ErrorObject[]): number | null | undefined {
  const value = Object.hasOwn(attributes, 'expires-at') ? attributes['expires-at'] : undefined;
  if (value === undefined || value === null) return value;
  const time = typeof value === 'string' ? parseTime(value) : undefined;
  if (time !== undefined && time > now) return time;
  errors.push(attributeError('expires-at', 'Expires at must be an RFC 3339 time in the future'));
  return undefined;
}

const attributeSchemas = (terraform: boolean) => ({
  access: Type.Enum([...ACCESS_LEVELS]),
  ...attributeProperties(terraform),
  'expires-at': Type.Union([Type.String({ description: 'RFC 3339, in the future.' }), Type.Null()]),
});
const relationshipSchemas = { team: toOneRequired('teams'), workspace: toOneRequired('workspaces') };

export const newTeamWorkspaceSchema = (terraform: boolean) =>
  bodySchema(TEAM_WORKSPACES, {
    attributes: attributeSchemas(terraform),
    relationships: relationshipSchemas,
    required: ['access'],
  });

/** The schema of a row in a complete set, which names its team by ID or by name [TEAM-76]. */
export const completeSetRowSchema = (terraform: boolean) =>
  resourceBodySchema(TEAM_WORKSPACES, {
    attributes: {
      ...attributeSchemas(terraform),
      'team-name': Type.String({ description: 'Instead of the relationship, for a team that the caller can see.' }),
    },
    relationships: { team: Type.Optional(toOne('teams')), workspace: Type.Optional(toOne('workspaces')) },
    required: ['access'],
  });

export const changedTeamWorkspaceSchema = (terraform: boolean) =>
  bodySchema(TEAM_WORKSPACES, { attributes: attributeSchemas(terraform) });
