/** Runs operations one after another in one commit: each finds what those before it have made. */
import { ServiceError } from '../../../http/errors.ts';
import type { Clock } from '../../../state/clock/clock.ts';
import { remembering } from '../../authorization/caller-role.ts';
import type { Writing } from '../../http/request-pipeline.ts';
import type { Resource } from '../../jsonapi/documents.ts';
import { type Fault, JsonApiError } from '../../jsonapi/errors.ts';
import { within } from '../../jsonapi/faults-within.ts';
import type { GivenResource } from '../../jsonapi/read-resource.ts';
import { OPERATIONS_MS_MAX } from '../../limits.ts';
import { addMembers, removeMembers } from '../../teams/change-members.ts';
import type { Change, Operation } from './read-operations.ts';
import { type Context, RESOURCE_KINDS } from './resource-kinds.ts';

/** What an operation came to: nothing to show for what is removed, and for members. */
export interface Result {
  readonly data?: Resource;
  /** In a dry run, of an update or removal: what it would change. */
  readonly meta?: { readonly before: Resource };
}

/** How operations are run and shown. */
export interface RunOptions {
  /** By its monotonic time OPERATIONS_MS_MAX is measured. */
  readonly clock: Clock;
  readonly dryRun: boolean;
  readonly terraform: boolean;
}

/**
 * The first that is refused ends it: what comes after builds on it.
 * @throws JsonApiError as the single endpoints do, with the place of the operation; ServiceError `too-large` past
 * OPERATIONS_MS_MAX
 */
export function runOperations(
  writing: Writing,
  operations: readonly Operation[],
  { clock, dryRun, terraform }: RunOptions,
): readonly Result[] {
  const ids = new Map<string, string>();
  const made = new Set<string>();
  let caller = remembering(writing.caller);
  const run = (wanted: Change): Result => {
    const current = { ...writing, caller };
    const change = withIds(wanted, ids);
    const context = { organization: change.kind === 'add' ? change.organization : '', terraform };
    const before = dryRun ? shownBefore(current, change, context) : undefined;
    const data = runChange(current, change, context);
    if (change.kind === 'add' && data !== undefined) made.add(data.id);
    if (change.kind === 'add' && change.standIn !== undefined && data !== undefined) ids.set(change.standIn, data.id);
    if (!('type' in change) || change.type !== 'team-workspaces') caller = remembering(writing.caller);
    return { ...(data !== undefined && { data }), ...(before !== undefined && { meta: { before } }) };
  };
  const endMs = clock.monotonic() + OPERATIONS_MS_MAX;
  return operations.map(({ change, place }, position) => {
    if (clock.monotonic() > endMs) throw tooLong(position, operations.length);
    return within(place, () => withoutUndone(made, () => run(change)));
  });
}

/** Runs `change`; what it refuses names nothing that this request itself has made: that is undone with the refusal. */
function withoutUndone<T>(made: ReadonlySet<string>, change: () => T): T {
  try {
    return change();
  } catch (error) {
    if (!(error instanceof JsonApiError)) throw error;
    const [first, ...rest] = error.faults.map(({ meta, ...fault }): Fault => {
      const standing = Object.entries(meta ?? {}).filter(([, id]) => !made.has(id));
      return standing.length === 0 ? fault : { ...fault, meta: Object.fromEntries(standing) };
    });
    throw first === undefined ? error : new JsonApiError([first, ...rest], error.headers);
  }
}

const tooLong = (done: number, all: number): ServiceError => {
  const text = `${done} of ${all} operations took ${OPERATIONS_MS_MAX} ms: send fewer at once; nothing was changed`;
  return new ServiceError('too-large', text);
};

/** Everything is looked up and checked there, again for each: an operation may end what the next would need. */
function runChange(writing: Writing, change: Change, context: Context): Resource | undefined {
  switch (change.kind) {
    case 'add':
      return RESOURCE_KINDS[change.type].add(writing, change.given, context);
    case 'update':
      return RESOURCE_KINDS[change.type].update?.(writing, change.id, change.given, context);
    case 'remove':
      RESOURCE_KINDS[change.type].remove(writing, change.id, context);
      return undefined;
    case 'add-members':
      addMembers(writing, change);
      return undefined;
    case 'remove-members':
      removeMembers(writing, change);
      return undefined;
  }
}

function shownBefore({ tx, caller }: Writing, change: Change, context: Context): Resource | undefined {
  if (change.kind !== 'update' && change.kind !== 'remove') return undefined;
  return RESOURCE_KINDS[change.type].show(tx, caller, change.id, context);
}

/** The change with the ids that stand-ins have come to. */
function withIds(change: Change, ids: ReadonlyMap<string, string>): Change {
  if (ids.size === 0) return change;
  const idOf = (id: string): string => ids.get(id) ?? id;
  switch (change.kind) {
    case 'add':
      return { ...change, given: givenWithIds(change.given, idOf) };
    case 'update':
      return { ...change, id: idOf(change.id), given: givenWithIds(change.given, idOf) };
    case 'remove':
      return { ...change, id: idOf(change.id) };
    case 'add-members':
    case 'remove-members':
      return { ...change, teamId: idOf(change.teamId), ids: change.ids.map(idOf) };
  }
}

const givenWithIds = (given: GivenResource, idOf: (id: string) => string): GivenResource => ({
  ...given,
  relationships: new Map([...given.relationships].map(([name, id]) => [name, idOf(id)])),
  manyRelationships: new Map([...given.manyRelationships].map(([name, ids]) => [name, ids.map(idOf)])),
});
