/** Runs the operations of a request in order in one commit. Each operation sees the changes of those before it. */
import { ServiceError } from '../../../http/errors.ts';
import type { Clock } from '../../../state/clock/clock.ts';
import type { Steps } from '../../../state/clock/slices.ts';
import type { WriteContext } from '../../http/request-pipeline.ts';
import type { Resource } from '../../jsonapi/documents.ts';
import { type ErrorObject, JsonApiError, stepsWithErrorsAt } from '../../jsonapi/errors.ts';
import type { ParsedResource } from '../../jsonapi/read-resource.ts';
import { OPERATIONS_MS_MAX } from '../../limits.ts';
import { addMembers, removeMembers } from '../../teams/change-members.ts';
import type { Change, Operation } from './read-operations.ts';
import { type OperationOptions, RESOURCE_KINDS } from './resource-kinds.ts';

/** The result of one operation. It is empty for removals and changes of members [TEAM-70]. */
export interface OperationResult {
  readonly data?: Resource;
  /** In a dry run, the current resource of an update or removal [TEAM-88]. */
  readonly meta?: { readonly before: Resource };
}

export interface RunOptions {
  /** Measures `OPERATIONS_MS_MAX` with its monotonic time. */
  readonly clock: Clock;
  readonly dryRun: boolean;
  readonly terraform: boolean;
}

/**
 * Runs operations until the first error [TEAM-68].
 * @throws JsonApiError of the endpoint for the single change, with the pointer of the operation
 * @throws ServiceError `too-large` after `OPERATIONS_MS_MAX` [TEAM-72]
 */
export function* runOperations(
  context: WriteContext,
  operations: readonly Operation[],
  { clock, dryRun, terraform }: RunOptions,
): Steps<readonly OperationResult[]> {
  const ids = new Map<string, string>();
  const addedIds = new Set<string>();
  function* run(parsed: Change): Steps<OperationResult> {
    const change = withIds(parsed, ids);
    const options = { organization: change.kind === 'add' ? change.organization : '', terraform };
    const before = dryRun ? readBefore(context, change, options) : undefined;
    const data = yield* runChange(context, change, options);
    if (change.kind === 'add' && data !== undefined) addedIds.add(data.id);
    if (change.kind === 'add' && change.placeholder !== undefined && data !== undefined)
      ids.set(change.placeholder, data.id);
    return { ...(data !== undefined && { data }), ...(before !== undefined && { meta: { before } }) };
  }
  const results: OperationResult[] = [];
  let spentMs = 0;
  for (const [position, { change, place }] of operations.entries()) {
    yield;
    const startedMs = clock.monotonic();
    if (spentMs >= OPERATIONS_MS_MAX) throw tooSlow(position, operations.length);
    results.push(yield* stepsWithErrorsAt(place, withoutRolledBackIds(addedIds, run(change))));
    spentMs += clock.monotonic() - startedMs;
  }
  return results;
}

/** Runs a change and removes IDs that this request added from its errors, because the error undoes them [TEAM-69]. */
function* withoutRolledBackIds<T>(addedIds: ReadonlySet<string>, change: Steps<T>): Steps<T> {
  try {
    return yield* change;
  } catch (error) {
    if (!(error instanceof JsonApiError)) throw error;
    const [first, ...rest] = error.errors.map(({ meta, ...object }): ErrorObject => {
      const existing = Object.entries(meta ?? {}).filter(([, id]) => !addedIds.has(id));
      return existing.length === 0 ? object : { ...object, meta: Object.fromEntries(existing) };
    });
    throw first === undefined ? error : new JsonApiError([first, ...rest], error.headers);
  }
}

const tooSlow = (done: number, all: number): ServiceError => {
  const text = `${done} of ${all} operations took ${OPERATIONS_MS_MAX} ms: send fewer at once; nothing was changed`;
  return new ServiceError('too-large', text);
};

function* runChange(context: WriteContext, change: Change, options: OperationOptions): Steps<Resource | undefined> {
  switch (change.kind) {
    case 'add':
      return yield* RESOURCE_KINDS[change.type].add(context, change.body, options);
    case 'update':
      return RESOURCE_KINDS[change.type].update?.(context, change.id, change.body, options);
    case 'remove':
      RESOURCE_KINDS[change.type].remove(context, change.id, options);
      return undefined;
    case 'add-members':
      yield* addMembers(context, change);
      return undefined;
    case 'remove-members':
      yield* removeMembers(context, change);
      return undefined;
  }
}

function readBefore({ tx, caller }: WriteContext, change: Change, options: OperationOptions): Resource | undefined {
  if (change.kind !== 'update' && change.kind !== 'remove') return undefined;
  return RESOURCE_KINDS[change.type].read(tx, caller, change.id, options);
}

/** Replaces the placeholders in a change with the IDs of the added resources. */
function withIds(change: Change, ids: ReadonlyMap<string, string>): Change {
  if (ids.size === 0) return change;
  const idOf = (id: string): string => ids.get(id) ?? id;
  switch (change.kind) {
    case 'add':
      return { ...change, body: bodyWithIds(change.body, idOf) };
    case 'update':
      return { ...change, id: idOf(change.id), body: bodyWithIds(change.body, idOf) };
    case 'remove':
      return { ...change, id: idOf(change.id) };
    case 'add-members':
    case 'remove-members':
      return { ...change, teamId: idOf(change.teamId), ids: change.ids.map(idOf) };
  }
}

const bodyWithIds = (body: ParsedResource, idOf: (id: string) => string): ParsedResource => ({
  ...body,
  relationships: new Map([...body.relationships].map(([name, id]) => [name, idOf(id)])),
  toManyRelationships: new Map([...body.toManyRelationships].map(([name, ids]) => [name, ids.map(idOf)])),
});
