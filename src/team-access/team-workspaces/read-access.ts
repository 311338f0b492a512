/** Reads what a body says about access. What may be set depends on the level that comes of it. */
import { Type } from 'typebox';
import { parseTime } from '../../credentials/parse-time.ts';
import { attributeProperties, type WireName, wireLabel, wireNames } from '../documents/access-attributes.ts';
import { TEAM_WORKSPACES } from '../documents/team-workspace-to-json.ts';
import { attributeFault, type Fault, throwFaults } from '../jsonapi/errors.ts';
import { type Given, given } from '../jsonapi/read-attributes.ts';
import { bodyOf, givenResourceOf, toOne, toThat } from '../jsonapi/schemas.ts';
import {
  ACCESS_LEVELS,
  type Access,
  type AccessChange,
  type AccessLevel,
  type AttributeName,
  type Attributes,
  createdAccess,
  rankOf,
} from '../tables/access.ts';

/** What a row is to be. */
export interface AccessBody extends AccessChange {
  /** Milliseconds since 1970; null: it does not end; `undefined`: nothing is said of it. */
  readonly expiresAtMs: number | null | undefined;
}

/** What a new row is to be. */
export interface NewAccess {
  readonly access: Access;
  /** Milliseconds since 1970; `undefined`: it does not end. */
  readonly expiresAtMs: number | undefined;
}

export interface ReadAccess {
  readonly terraform: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The level of the row that is changed; `undefined` for a new row, which must say its own. */
  readonly level?: AccessLevel;
  /** What else this step of the checks has found. */
  readonly faults?: readonly Fault[];
}

/** @throws JsonApiError `invalid-attribute` */
export function readAccess(attributes: Given, { terraform, now, level, faults: others = [] }: ReadAccess): AccessBody {
  const faults: Fault[] = [...others];
  const access = readLevel(attributes, level, faults);
  const values = readValues(attributes, access, terraform, faults);
  const expiresAtMs = readExpiry(attributes, now, faults);
  throwFaults(faults);
  return { ...(access !== undefined && { access }), attributes: values, expiresAtMs };
}

/** What a new row gives. @throws JsonApiError `invalid-attribute` */
export function readNewAccess(attributes: Given, options: Pick<ReadAccess, 'terraform' | 'now'>): NewAccess {
  const body = readAccess(attributes, options);
  // A body without a level was refused.
  if (body.access === undefined) throw new TypeError('a new row has no level');
  return { access: createdAccess(body.access, body.attributes), expiresAtMs: body.expiresAtMs ?? undefined };
}

/** The level that comes of it; `undefined` with a fault. */
function readLevel(attributes: Given, stored: AccessLevel | undefined, faults: Fault[]): AccessLevel | undefined {
  const value = Object.hasOwn(attributes, 'access') ? attributes['access'] : undefined;
  if (value === undefined && stored !== undefined) return stored;
  if (value === undefined || value === null) {
    faults.push(attributeFault('access', "Access can't be blank"));
    return undefined;
  }
  const level = ACCESS_LEVELS.find((known) => known === value);
  if (level === undefined) faults.push(attributeFault('access', 'Access is not included in the list'));
  return level;
}

/** Every attribute that is given; a null says nothing. */
function readValues(
  attributes: Given,
  level: AccessLevel | undefined,
  terraform: boolean,
  faults: Fault[],
): Partial<Attributes> {
  const values: Partial<Record<AttributeName, unknown>> = {};
  for (const wireName of wireNames(terraform)) {
    const { name, wire } = wireName;
    const value = given(attributes, wire);
    if (value === undefined) continue;
    const label = wireLabel(name, terraform);
    faults.push(...valueFaults(wireName, value, level, label));
    if (name in values && values[name] !== value) {
      faults.push(attributeFault(wire, `${label} and policy-mocks must be the same when both are given`));
    }
    values[name] = value;
  }
  // Where a value is none of its attribute's, a fault was told.
  return values as Partial<Attributes>;
}

function valueFaults({ name, wire }: WireName, value: unknown, level: AccessLevel | undefined, label: string): Fault[] {
  const faults: Fault[] = [];
  if (rankOf(name, value) === -1) faults.push(attributeFault(wire, `${label} is not included in the list`));
  if (level !== undefined && level !== 'custom') {
    const why = `${label} is read-only when access level is '${level}'`;
    faults.push(attributeFault(wire, `${why}; use the 'custom' access level to set this attribute.`));
  }
  return faults;
}

function readExpiry(attributes: Given, now: number, faults: Fault[]): number | null | undefined {
  const value = Object.hasOwn(attributes, 'expires-at') ? attributes['expires-at'] : undefined;
  if (value === undefined || value === null) return value;
  const time = typeof value === 'string' ? parseTime(value) : undefined;
  if (time !== undefined && time > now) return time;
  faults.push(attributeFault('expires-at', 'Expires at must be a time in the future, as RFC 3339 writes it'));
  return undefined;
}

const attributeSchemas = (terraform: boolean) => ({
  access: Type.Enum([...ACCESS_LEVELS]),
  ...attributeProperties(terraform),
  'expires-at': Type.Union([Type.String({ description: 'RFC 3339, in the future.' }), Type.Null()]),
});
const relationships = { team: toThat('teams'), workspace: toThat('workspaces') };

/** The body that makes a row, for the API description. */
export const newTeamWorkspaceSchema = (terraform: boolean) =>
  bodyOf(TEAM_WORKSPACES, { attributes: attributeSchemas(terraform), relationships, required: ['access'] });

/** A row of a complete set, which names its team by id or by name. */
export const setRowSchema = (terraform: boolean) =>
  givenResourceOf(TEAM_WORKSPACES, {
    attributes: {
      ...attributeSchemas(terraform),
      'team-name': Type.String({ description: 'Instead of the relationship, for a team that the caller sees.' }),
    },
    relationships: { team: Type.Optional(toOne('teams')), workspace: Type.Optional(toOne('workspaces')) },
    required: ['access'],
  });

/** The body that changes one. */
export const changedTeamWorkspaceSchema = (terraform: boolean) =>
  bodyOf(TEAM_WORKSPACES, { attributes: attributeSchemas(terraform) });
