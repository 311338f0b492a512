/** Reads what an operation is about: `ref`, or `href`, the path of an endpoint. */
import { JsonApiError } from '../../jsonapi/errors.ts';
import { isObject, type Json, wrong } from '../../jsonapi/read-resource.ts';
import type { NamedBy } from '../../teams/change-members.ts';
import { type LocalIds, namedWithStandIns } from './local-ids.ts';
import { RESOURCE_KINDS, RESOURCE_TYPES, type ResourceType } from './resource-kinds.ts';

/** What an operation is about. Ids may be stand-ins for local ids. */
export type Target =
  /** Where resources are added; `organization`: in which, where the path says it. */
  | { readonly kind: 'collection'; readonly type: ResourceType; readonly organization: string | undefined }
  | { readonly kind: 'resource'; readonly type: ResourceType; readonly id: string }
  /** The members of a team, as one of its relationships. */
  | { readonly kind: 'members'; readonly teamId: string; readonly by: NamedBy };

const MEMBERS: readonly NamedBy[] = ['users', 'organization-memberships'];

/** `undefined`: the operation does not say it apart from its `data`. @throws JsonApiError `invalid-body` */
export function readTarget(operation: Json, lids: LocalIds): Target | undefined {
  const { ref, href } = operation;
  if (href === undefined) return ref === undefined ? undefined : targetOfRef(ref, lids);
  if (ref !== undefined) throw new JsonApiError([wrong('/href', 'want ref or href, not both')]);
  const target = typeof href === 'string' ? targetOfPath(href) : undefined;
  if (target === undefined) throw new JsonApiError([wrong('/href', 'href leads to nothing that operations change')]);
  return target;
}

/** A type that operations know. */
export const typeNamed = (name: unknown): ResourceType | undefined => RESOURCE_TYPES.find((type) => type === name);

function targetOfRef(ref: unknown, lids: LocalIds): Target {
  if (!isObject(ref)) throw new JsonApiError([wrong('/ref', 'ref must be an object')]);
  const type = typeNamed(ref['type']);
  if (type === undefined)
    throw new JsonApiError([wrong('/ref/type', `type must be one of ${RESOURCE_TYPES.join(', ')}`)]);
  const { id } = namedWithStandIns(ref, lids, '/ref') as Json;
  if (typeof id !== 'string') throw new JsonApiError([wrong('/ref/id', 'id must be a string')]);
  const relationship = ref['relationship'];
  if (relationship === undefined) return { kind: 'resource', type, id };
  const by = MEMBERS.find((name) => name === relationship);
  if (type === 'teams' && by !== undefined) return { kind: 'members', teamId: id, by };
  throw new JsonApiError([wrong('/ref/relationship', `relationship must be ${MEMBERS.join(' or ')}, of teams`)]);
}

/** Names and ids have nothing in them that a path would encode. */
function targetOfPath(path: string): Target | undefined {
  const [root, api, version, first = '', second = '', third, fourth, ...more] = path.split('/');
  if (root !== '' || api !== 'api' || version !== 'v2' || more.length > 0) return undefined;
  if (first === 'organizations' && fourth === undefined) {
    const type = typeNamed(third);
    if (type === undefined || !RESOURCE_KINDS[type].inOrganization) return undefined;
    return { kind: 'collection', type, organization: second };
  }
  if (first === 'teams' && third === 'relationships') {
    const by = MEMBERS.find((name) => name === fourth);
    return by && { kind: 'members', teamId: second, by };
  }
  const type = typeNamed(first);
  if (type === undefined || third !== undefined) return undefined;
  if (second !== '') return { kind: 'resource', type, id: second };
  return RESOURCE_KINDS[type].inOrganization ? undefined : { kind: 'collection', type, organization: undefined };
}
