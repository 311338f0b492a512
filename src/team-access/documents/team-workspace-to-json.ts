/** How a row is shown: the same to everybody who sees it. */
import { Type } from 'typebox';
import type { DeepReadonly } from '../../state/table.ts';
import type { Document, Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { ACCESS_LEVELS, attributesOf } from '../tables/access.ts';
import type { TeamWorkspace } from '../tables/team-workspace.ts';
import { attributeProperties, shownAttributes } from './access-attributes.ts';
import { workspacePath } from './workspace-to-json.ts';

/** The JSON:API type. */
export const TEAM_WORKSPACES = 'team-workspaces';

/** A row with what its links name. */
export interface ShownRow {
  readonly row: DeepReadonly<TeamWorkspace>;
  readonly workspace: { readonly name: string };
  readonly standing: { readonly organization: { readonly name: string } };
}

const schemaOf = (terraform: boolean) =>
  resourceSchema(TEAM_WORKSPACES, 'TeamWorkspace', {
    attributes: {
      access: Type.Enum([...ACCESS_LEVELS]),
      ...attributeProperties(terraform),
      'expires-at': Type.Optional(Type.String({ description: 'RFC 3339; from then on it does not exist.' })),
    },
    relationships: { team: toOne('teams'), workspace: toOne('workspaces') },
  });

const SCHEMA = schemaOf(false);
const SCHEMA_OF_TERRAFORM = schemaOf(true);

/** The schema of a shown row: always the same one, as it has a name in the API description. */
export const teamWorkspaceSchema = (terraform: boolean) => (terraform ? SCHEMA_OF_TERRAFORM : SCHEMA);

/** The resource of a row. */
export const showTeamWorkspace = ({ row, workspace, standing }: ShownRow, terraform: boolean): Resource => ({
  id: row.id,
  type: TEAM_WORKSPACES,
  attributes: shownPermissions(row, terraform),
  relationships: {
    team: { data: { id: row.teamId, type: 'teams' }, links: { related: `/api/v2/teams/${row.teamId}` } },
    workspace: {
      data: { id: row.workspaceId, type: 'workspaces' },
      links: { related: workspacePath(standing.organization.name, workspace.name) },
    },
  },
  links: { self: `/api/v2/${TEAM_WORKSPACES}/${row.id}` },
});

/** The document of a row alone. */
export const rowDocument = (found: ShownRow, terraform: boolean): Document => ({
  data: showTeamWorkspace(found, terraform),
});

/** The document of rows that are not in pages: whoever answers with it has the same `ETag`. */
export const rowsDocument = (rows: readonly ShownRow[], terraform: boolean): Document => ({
  data: rows.map((row) => showTeamWorkspace(row, terraform)),
});

/** What a row gives, and until when. */
export const shownPermissions = (
  row: DeepReadonly<TeamWorkspace>,
  terraform: boolean,
): Readonly<Record<string, unknown>> => ({
  access: row.access,
  ...shownAttributes(attributesOf(row), terraform),
  ...shownEnd(row),
});

/** When a row ends, where it does. */
export const shownEnd = ({ expiresAtMs }: { readonly expiresAtMs?: number }): { readonly 'expires-at'?: string } =>
  expiresAtMs === undefined ? {} : { 'expires-at': new Date(expiresAtMs).toISOString() };
