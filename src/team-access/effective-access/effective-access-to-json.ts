/** The `effective-access` document: a subject's access to a workspace, and the sources of each attribute [DOC-66]. */
import { Type } from 'typebox';
import { mapInSlices, type Steps } from '../../state/clock/slices.ts';
import {
  type AccessSource,
  type Contribution,
  type ExplainedAttribute,
  effectiveAccess,
  explainAccess,
} from '../authorization/effective-access.ts';
import {
  attributeProperties,
  attributesToJson,
  expiryToJson,
  wireNamesOf,
} from '../documents/team-workspace-to-json.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { ACCESS_LEVELS } from '../tables/team-workspace.ts';
import type { Subject } from './find-subject.ts';

export const sourceSchema = Type.Object(
  {
    kind: Type.Enum(['owner', 'organization-permission', 'team-workspace']),
    team: Type.Optional(Type.String({ description: "The ID of the team. Absent for the organization's token." })),
    permission: Type.Optional(Type.String({ description: 'The organization permission.' })),
    id: Type.Optional(Type.String({ description: 'The ID of the `team-workspaces` row.' })),
    'expires-at': Type.Optional(Type.String({ description: 'RFC 3339. The row does not exist from this time on.' })),
  },
  { title: 'AccessSource' },
);
const explanationSchema = Type.Object(
  {
    attribute: Type.String({ description: 'The attribute, or `admin`.' }),
    value: Type.Union([Type.String(), Type.Boolean()]),
    sources: Type.Array(sourceSchema, { description: 'All sources that grant this value.' }),
  },
  { title: 'AccessExplanation' },
);

export const effectiveAccessSchema = (terraform: boolean) =>
  resourceSchema('effective-access', 'EffectiveAccess', {
    attributes: {
      access: Type.Union([Type.Enum([...ACCESS_LEVELS]), Type.Null()], { description: 'Null: no access.' }),
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

/** Returns the access that the contributions result in, with its explanation [AUTHZ-28 to AUTHZ-35]. */
export function* effectiveAccessToJson(
  workspaceId: string,
  { id, type }: Subject,
  contributions: readonly Contribution[],
  terraform: boolean,
): Steps<Resource> {
  const effective = effectiveAccess(contributions);
  const explained = yield* mapInSlices(yield* explainAccess(contributions), (one) => explanationToJson(one, terraform));
  return {
    id: `${workspaceId}/${id}`,
    type: 'effective-access',
    attributes: {
      access: effective?.access ?? null,
      ...(effective !== undefined && attributesToJson(effective.attributes, terraform)),
      explanation: explained.flat(),
    },
    relationships: {
      workspace: { data: { id: workspaceId, type: 'workspaces' } },
      subject: { data: { id, type } },
    },
  };
}

/** Returns one entry for each document name of the attribute [DOC-68]. */
function explanationToJson({ name, value, sources }: ExplainedAttribute, terraform: boolean) {
  const sourcesJson = sources.map(sourceToJson);
  const names = name === 'admin' ? [name] : wireNamesOf(name, terraform);
  return names.map((attribute) => ({ attribute, value, sources: sourcesJson }));
}

export function sourceToJson(source: AccessSource) {
  const team = source.teamId === undefined ? {} : { team: source.teamId };
  switch (source.kind) {
    case 'owner':
      return { kind: source.kind, ...team };
    case 'organization-permission':
      return { kind: source.kind, ...team, permission: source.permission };
    case 'team-workspace':
      return { kind: source.kind, ...team, id: source.id, ...expiryToJson(source) };
  }
}
