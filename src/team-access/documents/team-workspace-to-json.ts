/**
 * The JSON form of team access: the attributes of access, rows, and their schemas. A row is the same for every caller.
 */
import { type TProperties, type TSchema, Type } from 'typebox';
import type { Steps } from '../../state/clock/slices.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Document, Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import {
  ACCESS_LEVELS,
  ATTRIBUTE_NAMES,
  ATTRIBUTES,
  type AttributeName,
  type Attributes,
  attributesOf,
  type TeamWorkspace,
} from '../tables/team-workspace.ts';
import { workspacePath } from './paths.ts';

/** The JSON:API type of rows. */
export const TEAM_WORKSPACES = 'team-workspaces';

/** An attribute and one of its names in documents. */
export interface WireName {
  readonly name: AttributeName;
  readonly wire: string;
}

const PLAIN_NAMES: readonly WireName[] = ATTRIBUTE_NAMES.filter((name) => name !== 'policy-overrides').map((name) => ({
  name,
  wire: name,
}));
/** Adds `policy-overrides`, and `sentinel-mocks` as a second name of `policy-mocks` ([TEAM-108]). */
const TERRAFORM_NAMES: readonly WireName[] = ATTRIBUTE_NAMES.flatMap((name): WireName[] => {
  const plain = { name, wire: name };
  return name === 'policy-mocks' ? [plain, { name, wire: 'sentinel-mocks' }] : [plain];
});

const byAttribute = (names: readonly WireName[]): ReadonlyMap<AttributeName, readonly string[]> =>
  new Map(ATTRIBUTE_NAMES.map((name) => [name, names.filter((one) => one.name === name).map(({ wire }) => wire)]));
const PLAIN_NAMES_BY_ATTRIBUTE = byAttribute(PLAIN_NAMES);
const TERRAFORM_NAMES_BY_ATTRIBUTE = byAttribute(TERRAFORM_NAMES);

export const wireNames = (terraform: boolean): readonly WireName[] => (terraform ? TERRAFORM_NAMES : PLAIN_NAMES);

export const wireNamesOf = (name: AttributeName, terraform: boolean): readonly string[] =>
  (terraform ? TERRAFORM_NAMES_BY_ATTRIBUTE : PLAIN_NAMES_BY_ATTRIBUTE).get(name) ?? [];

export const attributeLabel = (name: AttributeName, terraform: boolean): string =>
  terraform && name === 'policy-mocks' ? 'Sentinel mocks' : ATTRIBUTES[name].label;

/** Returns attributes under all their names. */
export function attributesToJson(
  attributes: Attributes,
  terraform: boolean,
): Readonly<Record<string, string | boolean>> {
  const json: Record<string, string | boolean> = {};
  for (const { name, wire } of wireNames(terraform)) json[wire] = attributes[name];
  return json;
}

export const attributeProperties = (terraform: boolean): TProperties =>
  Object.fromEntries(wireNames(terraform).map(({ name, wire }) => [wire, valueSchema(name)]));

function valueSchema(name: AttributeName): TSchema {
  const { values } = ATTRIBUTES[name];
  return typeof values[0] === 'boolean' ? Type.Boolean() : Type.Enum(values.map(String));
}

const schemaOf = (terraform: boolean) =>
  resourceSchema(TEAM_WORKSPACES, 'TeamWorkspace', {
    attributes: {
      access: Type.Enum([...ACCESS_LEVELS]),
      ...attributeProperties(terraform),
      'expires-at': Type.Optional(
        Type.String({ description: 'RFC 3339. At this time the row ends, or returns to base-access.' }),
      ),
      'base-access': Type.Optional(
        Type.Enum([...ACCESS_LEVELS], { description: 'The access level that the row returns to at expires-at.' }),
      ),
    },
    relationships: { team: toOne('teams'), workspace: toOne('workspaces') },
  });

const PLAIN_SCHEMA = schemaOf(false);
const TERRAFORM_SCHEMA = schemaOf(true);

/** Returns the schema of a row, the same object each time, because the API description refers to it by name. */
export const teamWorkspaceSchema = (terraform: boolean) => (terraform ? TERRAFORM_SCHEMA : PLAIN_SCHEMA);

/** A row with the names that its links contain. */
export interface NamedTeamWorkspace {
  readonly row: DeepReadonly<TeamWorkspace>;
  readonly workspace: { readonly name: string };
  readonly role: { readonly organization: { readonly name: string } };
}

export const teamWorkspaceToJson = ({ row, workspace, role }: NamedTeamWorkspace, terraform: boolean): Resource => ({
  id: row.id,
  type: TEAM_WORKSPACES,
  attributes: accessToJson(row, terraform),
  relationships: {
    team: { data: { id: row.teamId, type: 'teams' }, links: { related: `/api/v2/teams/${row.teamId}` } },
    workspace: {
      data: { id: row.workspaceId, type: 'workspaces' },
      links: { related: workspacePath(role.organization.name, workspace.name) },
    },
  },
  links: { self: `/api/v2/${TEAM_WORKSPACES}/${row.id}` },
});

export const teamWorkspaceDocument = (found: NamedTeamWorkspace, terraform: boolean): Document => ({
  data: teamWorkspaceToJson(found, terraform),
});

/** Returns the unpaginated document of rows. Endpoints that answer with it have the same `ETag` ([TEAM-84]). */
export function* teamWorkspacesDocument(rows: readonly NamedTeamWorkspace[], terraform: boolean): Steps<Document> {
  const data: Resource[] = [];
  for (const row of rows) {
    data.push(teamWorkspaceToJson(row, terraform));
    yield;
  }
  return { data };
}

export const accessToJson = (
  row: DeepReadonly<TeamWorkspace>,
  terraform: boolean,
): Readonly<Record<string, unknown>> => ({
  access: row.access,
  ...attributesToJson(attributesOf(row), terraform),
  ...expiryToJson(row),
  ...(row.base !== undefined && { 'base-access': row.base.access }),
});

export const expiryToJson = ({ expiresAtMs }: { readonly expiresAtMs?: number }): { readonly 'expires-at'?: string } =>
  expiresAtMs === undefined ? {} : { 'expires-at': new Date(expiresAtMs).toISOString() };
