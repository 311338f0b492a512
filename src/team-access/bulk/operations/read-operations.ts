/** Reads the operations of a request: the shape of all of them, before anything is looked up. */
import { ServiceError } from '../../../http/errors.ts';
import { JsonApiError } from '../../jsonapi/errors.ts';
import { checkEach, type Place, within } from '../../jsonapi/faults-within.ts';
import {
  type GivenResource,
  identifiersIn,
  isObject,
  type Json,
  readMember,
  resourceIn,
  type WantedResource,
  wrong,
} from '../../jsonapi/read-resource.ts';
import { OPERATIONS_MAX } from '../../limits.ts';
import type { NamedBy } from '../../teams/change-members.ts';
import { createLocalIds, type LocalIds, namedWithStandIns, withStandIns } from './local-ids.ts';
import { readTarget, type Target, typeNamed } from './read-target.ts';
import { RESOURCE_KINDS, RESOURCE_TYPES, type ResourceType } from './resource-kinds.ts';

/** What is to be done. Ids may be stand-ins for local ids. */
export type Change =
  | {
      readonly kind: 'add';
      readonly type: ResourceType;
      readonly organization: string;
      readonly given: GivenResource;
      /** The stand-in for its id, where it has a local one. */
      readonly standIn: string | undefined;
    }
  | { readonly kind: 'update'; readonly type: ResourceType; readonly id: string; readonly given: GivenResource }
  | { readonly kind: 'remove'; readonly type: ResourceType; readonly id: string }
  | {
      readonly kind: 'add-members' | 'remove-members';
      readonly teamId: string;
      readonly by: NamedBy;
      readonly ids: readonly string[];
    };

/** One of a request. */
export interface Operation {
  readonly change: Change;
  /** Where its faults stand. */
  readonly place: Place;
}

/** Where a request has them. */
export const OPERATIONS = 'atomic:operations';

/** @throws JsonApiError `invalid-body`, `invalid-attribute`; ServiceError `too-large` */
export function readOperations(body: Uint8Array): readonly Operation[] {
  const given = readMember(body, OPERATIONS);
  if (!Array.isArray(given)) throw new JsonApiError([wrong(`/${OPERATIONS}`, 'want an array')]);
  checkCount(given.length);
  const lids = createLocalIds();
  const operations = checkEach(given, (operation: unknown, position) => {
    const place: Place = (pointer = '') => `/${OPERATIONS}/${position}${pointer}`;
    return { place, change: within(place, () => readOperation(operation, lids)) };
  });
  checkCount(operations.reduce((sum, { change }) => sum + countOf(change), 0));
  return operations;
}

/** How many it counts for: itself with the teams that a new member joins at once, or each member that it names. */
function countOf(change: Change): number {
  if ('ids' in change) return change.ids.length;
  if (change.kind !== 'add') return 1;
  return [...change.given.manyRelationships.values()].reduce((sum, ids) => sum + ids.length, 1);
}

/** @throws ServiceError `too-large` */
function checkCount(count: number): void {
  if (count <= OPERATIONS_MAX) return;
  const text = `The request has ${count} operations, each member counted: want at most ${OPERATIONS_MAX}`;
  throw new ServiceError('too-large', text);
}

function readOperation(operation: unknown, lids: LocalIds): Change {
  if (!isObject(operation)) throw new JsonApiError([wrong('', 'want an object')]);
  const target = readTarget(operation, lids);
  if (target?.kind === 'members') return readMembers(operation, target, lids);
  switch (operation['op']) {
    case 'add':
      return readAdd(operation, target, lids);
    case 'update':
      return readUpdate(operation, target, lids);
    case 'remove':
      if (target?.kind === 'resource') return { ...target, kind: 'remove' };
      throw new JsonApiError([wrong(targetPointer(operation), 'ref or href must name what is removed')]);
    default:
      throw new JsonApiError([wrong('/op', 'op must be add, update or remove')]);
  }
}

/** Of operations on resources. */
type ResourceTarget = Exclude<Target, { readonly kind: 'members' }>;

/** Where an operation says what it is about. */
const targetPointer = ({ href }: Json): string => (href === undefined ? '/ref' : '/href');

function readAdd(operation: Json, target: ResourceTarget | undefined, lids: LocalIds): Change {
  const { data } = operation;
  if (target?.kind === 'resource') {
    throw new JsonApiError([wrong(targetPointer(operation), 'what is added is no resource yet: it has no id')]);
  }
  const { type, lid } = typedData(data);
  if (target !== undefined && target.type !== type) {
    throw new JsonApiError([wrong('/data/type', `type must be ${target.type}`)]);
  }
  const standIn = lid === undefined ? undefined : lids.declare(type, textOf(lid), '/data/lid');
  const given = resourceIn(withStandIns(data, lids), addedIn(type, target));
  const organization = target?.organization ?? given.relationships.get('organization') ?? '';
  return { kind: 'add', type, organization, given, standIn };
}

/** What makes a resource; where no path names its organization, a relationship does. */
function addedIn(type: ResourceType, target: ResourceTarget | undefined): WantedResource {
  const { added, inOrganization } = RESOURCE_KINDS[type];
  if (!inOrganization || target !== undefined) return added;
  const organization = { name: 'organization', type: 'organizations', label: 'Organization' };
  return { ...added, relationships: [...(added.relationships ?? []), organization] };
}

function readUpdate({ data }: Json, target: ResourceTarget | undefined, lids: LocalIds): Change {
  if (target?.kind === 'collection') throw new JsonApiError([wrong('/href', 'href must name what is updated')]);
  const named = namedWithStandIns(data, lids, '/data');
  const { type, id } = target ?? typedData(named);
  if (typeof id !== 'string') throw new JsonApiError([wrong('/data/id', 'id must be a string')]);
  const { updated } = RESOURCE_KINDS[type];
  if (updated === undefined) throw new JsonApiError([wrong('/op', `${type} can be added and removed only`)]);
  const whole = isObject(data) && isObject(named) ? { ...data, id: named['id'] } : data;
  return { kind: 'update', type, id, given: resourceIn(withStandIns(whole, lids), updated(id)) };
}

function readMembers(
  { op, data }: Json,
  { teamId, by }: Extract<Target, { readonly kind: 'members' }>,
  lids: LocalIds,
): Change {
  if (op !== 'add' && op !== 'remove') throw new JsonApiError([wrong('/op', 'op must be add or remove, of members')]);
  // Before millions of them are read.
  if (Array.isArray(data)) checkCount(data.length);
  const ids = identifiersIn(namedWithStandIns(data, lids, '/data'), by);
  return { kind: `${op}-members`, teamId, by, ids };
}

function typedData(data: unknown): Json & { readonly type: ResourceType } {
  if (!isObject(data)) throw new JsonApiError([wrong('/data', 'want an object')]);
  const type = typeNamed(data['type']);
  if (type !== undefined) return { ...data, type };
  throw new JsonApiError([wrong('/data/type', `type must be one of ${RESOURCE_TYPES.join(', ')}`)]);
}

function textOf(lid: unknown): string {
  if (typeof lid === 'string') return lid;
  throw new JsonApiError([wrong('/data/lid', 'lid must be a string')]);
}
