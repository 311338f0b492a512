/** `GET /v1/connect/intentions/match`: the rules for sources or destinations, in the order in which they decide. */
import { Type } from 'typebox';
import { permits, permitsAnyName } from '../../../credentials/acl-token.ts';
import {
  authorize,
  type Caller,
  type Credentials,
  permissionDenied,
  type RequestContext,
  resolveCaller,
  waitOptionsOf,
  watchOwnToken,
} from '../../../credentials/caller.ts';
import { existingPartition } from '../../../credentials/partition.ts';
import type { Evaluate } from '../../../http/blocking/blocking-query.ts';
import type { Call } from '../../../http/call.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { jsonObject } from '../../../http/v1/json-answer.ts';
import { mapInSlices } from '../../../state/clock/slices.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import type { State, Watched } from '../../../state/state.ts';
import { configEntries, entryKey, kindEntry, WILDCARD } from '../config-entry.ts';
import { checkServiceName } from '../edit/check-names.ts';
import { type CallSource, type Rule, rulesFor, rulesMatchingSource } from '../intentions.ts';
import { MATCHED_NAMES_MAX } from '../limits.ts';
import { readCallSource, SOURCE_PARTITION, SOURCE_PEER } from './intention-query.ts';
import { intentionSchema, intentionToJson } from './intention-to-json.ts';

export const MATCH: readonly Parameter[] = [
  {
    name: 'by',
    description: 'Required. Whether each name is a source or a destination.',
    schema: Type.Enum(['source', 'destination']),
  },
  { name: 'name', description: 'Required. A service, or *. Repeatable.', schema: Type.String() },
  SOURCE_PEER,
  SOURCE_PARTITION,
];

export const intentionMatchSchema = Type.Record(Type.String(), Type.Array(intentionSchema));

interface Match {
  readonly names: readonly string[];
  readonly rules: (reader: Snapshot, partition: string, name: string) => readonly Rule[];
  /** @throws ServiceError `permission-denied` if the caller may not read any rule, whether or not rules exist */
  readonly authorize: (caller: Caller, partition: string) => void;
  readonly mayRead: (caller: Caller, rule: Rule) => boolean;
  readonly watched: (state: State, partition: string) => readonly Watched[];
}

/** @throws ServiceError `bad-request` */
export function matchIntentions(credentials: Credentials, context: RequestContext, call: Call): Evaluate {
  const match = readMatch(call, credentials);
  return (snapshot) => {
    const { caller, partition: named } = resolveCaller(credentials, snapshot, context);
    match.authorize(caller, named);
    const partition = existingPartition(snapshot, named);
    const matches = match.names.map((name) => [name, match.rules(snapshot, partition, name)] as const);
    const mayRead = (rule: Rule): boolean => match.mayRead(caller, rule);
    return {
      ...waitOptionsOf(caller),
      watched: [...watchOwnToken(credentials, caller), ...match.watched(credentials.state, partition)],
      filtered: matches.some(([, rules]) => !rules.every(mayRead)),
      *longBody() {
        const fields = yield* mapInSlices(matches, ([name, rules]) => {
          return [name, JSON.stringify(rules.filter(mayRead).map(intentionToJson))] as const;
        });
        return { json: yield* jsonObject(fields, (field) => field) };
      },
    };
  };
}

function readMatch(call: Call, { edition }: Credentials): Match {
  const by = call.query.get('by') ?? '';
  if (by === '') throw new ServiceError('bad-request', "required query parameter 'by' not set");
  if (by !== 'source' && by !== 'destination') {
    throw new ServiceError('bad-request', "'by' parameter must be one of 'source' or 'destination'");
  }
  const names = namesIn(call);
  for (const name of names) checkServiceName('name', name);
  return by === 'source' ? bySource(names, readCallSource(call.query, '', edition)) : byDestination(names);
}

/** A caller that may read the destination's entry also sees the rules of `*` that apply to it ([SVC-92]). */
const byDestination = (names: readonly string[]): Match => ({
  names,
  rules: rulesFor,
  authorize(caller, partition) {
    for (const name of names) authorize(caller, { resource: 'config', access: 'read', partition, name });
  },
  mayRead: () => true,
  watched: (state, partition) =>
    [...new Set([...names, WILDCARD])].map((name) =>
      state.watchRow(configEntries, entryKey(partition, 'service-intentions', name)),
    ),
});

const bySource = (names: readonly string[], from: CallSource): Match => ({
  names,
  rules: (reader, partition, source) => rulesMatchingSource(reader, partition, { ...from, source }),
  authorize(caller, partition) {
    if (!permitsAnyName(caller.grants, 'config', 'read', partition)) {
      throw permissionDenied(caller, { resource: 'config', access: 'read' });
    }
  },
  mayRead: (caller, { entry: { partition, name } }) =>
    permits(caller.grants, { resource: 'config', access: 'read', partition, name }),
  watched: (state, partition) => [state.watchEntry(configEntries, 'kind', kindEntry(partition, 'service-intentions'))],
});

/** Returns every `name`. `Query` has only the first value of a repeated parameter. */
function namesIn({ request }: Call): readonly string[] {
  const { searchParams } = new URL(request.url ?? '', 'http://of.the.path');
  const names = [...new Set(searchParams.getAll('name').filter((name) => name !== ''))];
  if (names.length === 0) throw new ServiceError('bad-request', "required query parameter 'name' not set");
  if (names.length <= MATCHED_NAMES_MAX) return names;
  throw new ServiceError('bad-request', `${names.length} names: want at most ${MATCHED_NAMES_MAX}`);
}
