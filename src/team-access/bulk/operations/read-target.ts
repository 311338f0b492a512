/** Reads the target of an operation: `ref`, or `href`, the path of its endpoint [TEAM-63, TEAM-64]. */
import { JsonApiError } from '../../jsonapi/errors.ts';
import { bodyError, isObject, type JsonObject } from '../../jsonapi/read-resource.ts';
import type { MemberIdType } from '../../teams/change-members.ts';
import { identifiersWithPlaceholders, type LocalIds } from './local-ids.ts';
import { RESOURCE_KINDS, RESOURCE_TYPES, type ResourceType } from './resource-kinds.ts';

/** The target of an operation. IDs can be placeholders of local IDs. */
export type Target =
  /** A collection to add to. `organization` is present if the path names one. */
  | { readonly kind: 'collection'; readonly type: ResourceType; readonly organization: string | undefined }
  | { readonly kind: 'resource'; readonly type: ResourceType; readonly id: string }
  | { readonly kind: 'members'; readonly teamId: string; readonly idType: MemberIdType };

const MEMBER_ID_TYPES: readonly MemberIdType[] = ['users', 'organization-memberships'];

/** Returns `undefined` if only `data` can name the target. @throws JsonApiError `invalid-body` */
export function readTarget(operation: JsonObject, lids: LocalIds): Target | undefined {
  const { ref, href } = operation;
  if (href === undefined) return ref === undefined ? undefined : targetOfRef(ref, lids);
  if (ref !== undefined) throw new JsonApiError([bodyError('/href', 'want ref or href, not both')]);
  const target = typeof href === 'string' ? targetOfPath(href) : undefined;
  if (target === undefined)
    throw new JsonApiError([bodyError('/href', 'href must be the path of a resource that operations can change')]);
  return target;
}

export const resourceTypeOf = (name: unknown): ResourceType | undefined => RESOURCE_TYPES.find((type) => type === name);

function targetOfRef(ref: unknown, lids: LocalIds): Target {
  if (!isObject(ref)) throw new JsonApiError([bodyError('/ref', 'ref must be an object')]);
  const type = resourceTypeOf(ref['type']);
  if (type === undefined)
    throw new JsonApiError([bodyError('/ref/type', `type must be one of ${RESOURCE_TYPES.join(', ')}`)]);
  const { id } = identifiersWithPlaceholders(ref, lids, '/ref') as JsonObject;
  if (typeof id !== 'string') throw new JsonApiError([bodyError('/ref/id', 'id must be a string')]);
  const relationship = ref['relationship'];
  if (relationship === undefined) return { kind: 'resource', type, id };
  const idType = MEMBER_ID_TYPES.find((name) => name === relationship);
  if (type === 'teams' && idType !== undefined) return { kind: 'members', teamId: id, idType };
  throw new JsonApiError([
    bodyError('/ref/relationship', `relationship must be ${MEMBER_ID_TYPES.join(' or ')} of teams`),
  ]);
}

/** Parses a path. Names and IDs have no characters that need percent-encoding. */
function targetOfPath(path: string): Target | undefined {
  const [root, api, version, first = '', second = '', third, fourth, ...more] = path.split('/');
  if (root !== '' || api !== 'api' || version !== 'v2' || more.length > 0) return undefined;
  if (first === 'organizations' && fourth === undefined) {
    const type = resourceTypeOf(third);
    if (type === undefined || !RESOURCE_KINDS[type].inOrganization) return undefined;
    return { kind: 'collection', type, organization: second };
  }
  if (first === 'teams' && third === 'relationships') {
    const idType = MEMBER_ID_TYPES.find((name) => name === fourth);
    return idType && { kind: 'members', teamId: second, idType };
  }
  const type = resourceTypeOf(first);
  if (type === undefined || third !== undefined) return undefined;
  if (second !== '') return { kind: 'resource', type, id: second };
  return RESOURCE_KINDS[type].inOrganization ? undefined : { kind: 'collection', type, organization: undefined };
}
