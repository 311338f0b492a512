/** Reads the operations of a request and checks their shape [TEAM-68]. No check here depends on stored data. */
import { ServiceError } from '../../../http/errors.ts';
import type { Steps } from '../../../state/clock/slices.ts';
import { checkAll, JsonApiError, type PointerMapping, withErrorsAt } from '../../jsonapi/errors.ts';
import {
  bodyError,
  isObject,
  type JsonObject,
  type ParsedResource,
  parseIdentifiers,
  parseResource,
  type ResourceSpec,
  readMemberInSlices,
} from '../../jsonapi/read-resource.ts';
import { BULK_ITEMS_MAX } from '../../limits.ts';
import type { MemberIdType } from '../../teams/change-members.ts';
import { createLocalIds, identifiersWithPlaceholders, type LocalIds, withPlaceholders } from './local-ids.ts';
import { readTarget, resourceTypeOf, type Target } from './read-target.ts';
import { RESOURCE_KINDS, RESOURCE_TYPES, type ResourceType } from './resource-kinds.ts';

/** The change of one operation. IDs can be placeholders of local IDs. */
export type Change =
  | {
      readonly kind: 'add';
      readonly type: ResourceType;
      readonly organization: string;
      readonly body: ParsedResource;
      /** The placeholder of its local ID, if it has one. */
      readonly placeholder: string | undefined;
    }
  | { readonly kind: 'update'; readonly type: ResourceType; readonly id: string; readonly body: ParsedResource }
  | { readonly kind: 'remove'; readonly type: ResourceType; readonly id: string }
  | {
      readonly kind: 'add-members' | 'remove-members';
      readonly teamId: string;
      readonly idType: MemberIdType;
      readonly ids: readonly string[];
    };

export interface Operation {
  readonly change: Change;
  /** Maps pointers within the operation to pointers into the body. */
  readonly place: PointerMapping;
}

export const OPERATIONS = 'atomic:operations';

/** Reports all errors together. @throws JsonApiError `invalid-body`, `invalid-attribute`; ServiceError `too-large` */
export function* readOperations(body: Buffer): Steps<readonly Operation[]> {
  const list = yield* readMemberInSlices(body, OPERATIONS);
  if (!Array.isArray(list)) throw new JsonApiError([bodyError(`/${OPERATIONS}`, 'want an array')]);
  checkCount(list.length);
  const lids = createLocalIds();
  const operations = yield* checkAll(list, (operation: unknown, position) => {
    const place: PointerMapping = (pointer = '') => `/${OPERATIONS}/${position}${pointer}`;
    return { place, change: withErrorsAt(place, () => readOperation(operation, lids)) };
  });
  checkCount(operations.reduce((sum, { change }) => sum + countOf(change), 0));
  return operations;
}

/** Returns the number of operations that a change counts as. Team members and teams in its body count, too. */
function countOf(change: Change): number {
  if ('ids' in change) return change.ids.length;
  if (change.kind !== 'add') return 1;
  return [...change.body.toManyRelationships.values()].reduce((sum, ids) => sum + ids.length, 1);
}

/** @throws ServiceError `too-large` over `BULK_ITEMS_MAX` [TEAM-71] */
function checkCount(count: number): void {
  if (count <= BULK_ITEMS_MAX) return;
  const text = `The request has ${count} operations, each member counted: want at most ${BULK_ITEMS_MAX}`;
  throw new ServiceError('too-large', text);
}

function readOperation(operation: unknown, lids: LocalIds): Change {
  if (!isObject(operation)) throw new JsonApiError([bodyError('', 'want an object')]);
  const target = readTarget(operation, lids);
  if (target?.kind === 'members') return readMembers(operation, target, lids);
  switch (operation['op']) {
    case 'add':
      return readAdd(operation, target, lids);
    case 'update':
      return readUpdate(operation, target, lids);
    case 'remove':
      if (target?.kind === 'resource') return { ...target, kind: 'remove' };
      throw new JsonApiError([bodyError(targetPointer(operation), 'ref or href must name a resource')]);
    default:
      throw new JsonApiError([bodyError('/op', 'op must be add, update or remove')]);
  }
}

type ResourceTarget = Exclude<Target, { readonly kind: 'members' }>;

const targetPointer = ({ href }: JsonObject): string => (href === undefined ? '/ref' : '/href');

function readAdd(operation: JsonObject, target: ResourceTarget | undefined, lids: LocalIds): Change {
  const { data } = operation;
  if (target?.kind === 'resource') {
    throw new JsonApiError([
      bodyError(targetPointer(operation), 'add must name a collection: a new resource has no ID yet'),
    ]);
  }
  const { type, lid } = typedData(data);
  if (target !== undefined && target.type !== type) {
    throw new JsonApiError([bodyError('/data/type', `type must be ${target.type}`)]);
  }
  const placeholder = lid === undefined ? undefined : lids.declare(type, readLid(lid), '/data/lid');
  const body = parseResource(withPlaceholders(data, lids), creationShape(type, target));
  const organization = target?.organization ?? body.relationships.get('organization') ?? '';
  return { kind: 'add', type, organization, body, placeholder };
}

/** Returns the shape of an `add`. Without a path, a relationship must name the organization [TEAM-65]. */
function creationShape(type: ResourceType, target: ResourceTarget | undefined): ResourceSpec {
  const { addShape, inOrganization } = RESOURCE_KINDS[type];
  if (!inOrganization || target !== undefined) return addShape;
  const organization = { name: 'organization', type: 'organizations', label: 'Organization' };
  return { ...addShape, relationships: [...(addShape.relationships ?? []), organization] };
}

function readUpdate({ data }: JsonObject, target: ResourceTarget | undefined, lids: LocalIds): Change {
  if (target?.kind === 'collection') throw new JsonApiError([bodyError('/href', 'href must name a resource')]);
  const identified = identifiersWithPlaceholders(data, lids, '/data');
  const { type, id } = target ?? typedData(identified);
  if (typeof id !== 'string') throw new JsonApiError([bodyError('/data/id', 'id must be a string')]);
  const { updateShape } = RESOURCE_KINDS[type];
  if (updateShape === undefined) throw new JsonApiError([bodyError('/op', `${type} cannot be updated`)]);
  const whole = isObject(data) && isObject(identified) ? { ...data, id: identified['id'] } : data;
  return { kind: 'update', type, id, body: parseResource(withPlaceholders(whole, lids), updateShape(id)) };
}

function readMembers(
  { op, data }: JsonObject,
  { teamId, idType }: Extract<Target, { readonly kind: 'members' }>,
  lids: LocalIds,
): Change {
  if (op !== 'add' && op !== 'remove')
    throw new JsonApiError([bodyError('/op', 'op must be add or remove for members of a team')]);
  // Checked before the list is read, because it can have millions of elements.
  if (Array.isArray(data)) checkCount(data.length);
  const ids = parseIdentifiers(identifiersWithPlaceholders(data, lids, '/data'), idType);
  return { kind: `${op}-members`, teamId, idType, ids };
}

function typedData(data: unknown): JsonObject & { readonly type: ResourceType } {
  if (!isObject(data)) throw new JsonApiError([bodyError('/data', 'want an object')]);
  const type = resourceTypeOf(data['type']);
  if (type !== undefined) return { ...data, type };
  throw new JsonApiError([bodyError('/data/type', `type must be one of ${RESOURCE_TYPES.join(', ')}`)]);
}

function readLid(lid: unknown): string {
  if (typeof lid === 'string') return lid;
  throw new JsonApiError([bodyError('/data/lid', 'lid must be a string')]);
}
