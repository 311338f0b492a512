/** How effective access is shown: what it is, and which row or permission gives what. */
import { Type } from 'typebox';
import {
  type Contribution,
  type Explained,
  effectiveAccess,
  explainAccess,
  type Source,
} from '../authorization/effective-access.ts';
import { attributeProperties, shownAttributes, wiresOf } from '../documents/access-attributes.ts';
import { shownEnd } from '../documents/team-workspace-to-json.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { ACCESS_LEVELS } from '../tables/access.ts';
import type { Subject } from './find-subject.ts';

export const sourceSchema = Type.Object(
  {
    kind: Type.Enum(['owner', 'organization-permission', 'team-workspace']),
    team: Type.Optional(Type.String({ description: "The team's id; absent for a token of the organization." })),
    permission: Type.Optional(Type.String({ description: 'The permission in the organization.' })),
    id: Type.Optional(Type.String({ description: 'The id of the row.' })),
    'expires-at': Type.Optional(Type.String({ description: 'RFC 3339; from then on the row does not exist.' })),
  },
  { title: 'AccessSource' },
);
const explanationSchema = Type.Object(
  {
    attribute: Type.String({ description: 'The attribute, or `admin`.' }),
    value: Type.Union([Type.String(), Type.Boolean()]),
    sources: Type.Array(sourceSchema, { description: 'Everything that gives as much.' }),
  },
  { title: 'AccessExplanation' },
);

export const effectiveAccessSchema = (terraform: boolean) =>
  resourceSchema('effective-access', 'EffectiveAccess', {
    attributes: {
      access: Type.Union([Type.Enum([...ACCESS_LEVELS]), Type.Null()], { description: 'Null: none at all.' }),
      ...Object.fromEntries(
        Object.entries(attributeProperties(terraform)).map(([name, schema]) => [name, Type.Optional(schema)]),
      ),
      explanation: Type.Array(explanationSchema),
    },
    relationships: {
      workspace: toOne('workspaces'),
      subject: Type.Object({
        data: Type.Object({ id: Type.String(), type: Type.Enum(['users', 'teams', 'organizations']) }),
      }),
    },
  });

/** What everything that was found gives the subject on the workspace. */
export function showEffectiveAccess(
  workspaceId: string,
  { id, type }: Subject,
  contributions: readonly Contribution[],
  terraform: boolean,
): Resource {
  const effective = effectiveAccess(contributions);
  return {
    id: `${workspaceId}/${id}`,
    type: 'effective-access',
    attributes: {
      access: effective?.access ?? null,
      ...(effective !== undefined && shownAttributes(effective.attributes, terraform)),
      explanation: explainAccess(contributions).flatMap((explained) => showExplained(explained, terraform)),
    },
    relationships: {
      workspace: { data: { id: workspaceId, type: 'workspaces' } },
      subject: { data: { id, type } },
    },
  };
}

/** Once for every name that the attribute has. */
function showExplained({ name, value, sources }: Explained, terraform: boolean) {
  const shown = sources.map(showSource);
  const names = name === 'admin' ? [name] : wiresOf(name, terraform);
  return names.map((attribute) => ({ attribute, value, sources: shown }));
}

/** Where access comes from. */
export function showSource(source: Source) {
  const team = source.teamId === undefined ? {} : { team: source.teamId };
  switch (source.kind) {
    case 'owner':
      return { kind: source.kind, ...team };
    case 'organization-permission':
      return { kind: source.kind, ...team, permission: source.permission };
    case 'team-workspace':
      return { kind: source.kind, ...team, id: source.id, ...shownEnd(source) };
  }
}
