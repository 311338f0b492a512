/** `GET /v1/connect/intentions/match`: what is said of sources or destinations, the first to decide first; can wait. */
import { Type } from 'typebox';
import { type Caller as AclCaller, authorize, lacks } from '../../../credentials/caller.ts';
import { permits, permitsSome } from '../../../credentials/grant.ts';
import { type Asked, type Credentials, locate, waitingAs, watchedGrants } from '../../../credentials/operation.ts';
import { existingPartition } from '../../../credentials/request-partition.ts';
import type { Evaluate } from '../../../http/blocking/reads.ts';
import type { Call } from '../../../http/call.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Parameter } from '../../../http/parameter.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import type { State, Watched } from '../../../state/state.ts';
import { configEntries, entryKey, kindEntry, WILDCARD } from '../config-entry.ts';
import { checkServiceName } from '../edit/check-names.ts';
import { type Caller, type Rule, rulesFor, rulesOfCaller } from '../intentions.ts';
import { MATCHED_NAMES_MAX } from '../limits.ts';
import { readCaller, SOURCE_PARTITION, SOURCE_PEER } from './intention-query.ts';
import { intentionSchema, showIntention } from './intention-to-json.ts';

export const MATCH: readonly Parameter[] = [
  { name: 'by', description: 'Required. What the names are of.', schema: Type.Enum(['source', 'destination']) },
  { name: 'name', description: 'Required. A service, or *; may be given several times.', schema: Type.String() },
  SOURCE_PEER,
  SOURCE_PARTITION,
];

/** By the names that were asked for. */
export const intentionMatchSchema = Type.Record(Type.String(), Type.Array(intentionSchema));

interface Match {
  readonly names: readonly string[];
  /** Of the partition that the request is about. */
  readonly rules: (reader: Snapshot, partition: string, name: string) => readonly Rule[];
  /** @throws ServiceError `permission-denied` for who may read nothing of it, whatever there is */
  readonly authorize: (caller: AclCaller, partition: string) => void;
  readonly mayRead: (caller: AclCaller, rule: Rule) => boolean;
  readonly watched: (state: State, partition: string) => readonly Watched[];
}

/** @throws ServiceError `bad-request` */
export function matchIntentions(credentials: Credentials, asked: Asked, call: Call): Evaluate {
  const match = readMatch(call, credentials);
  return (snapshot) => {
    const { caller, partition: wanted } = locate(credentials, snapshot, asked);
    match.authorize(caller, wanted);
    const partition = existingPartition(snapshot, wanted);
    const found = match.names.map((name) => [name, match.rules(snapshot, partition, name)] as const);
    const mayRead = (rule: Rule): boolean => match.mayRead(caller, rule);
    return {
      ...waitingAs(caller),
      watched: [...watchedGrants(credentials, caller), ...match.watched(credentials.state, partition)],
      filtered: found.some(([, rules]) => !rules.every(mayRead)),
      body: () => Object.fromEntries(found.map(([name, rules]) => [name, rules.filter(mayRead).map(showIntention)])),
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
  return by === 'source' ? bySource(names, readCaller(call.query, '', edition)) : byDestination(names);
}

/** What is said of a destination is shown to who may read that of the destination; what is of `*` holds for it, too. */
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

const bySource = (names: readonly string[], from: Caller): Match => ({
  names,
  rules: (reader, partition, source) => rulesOfCaller(reader, partition, { ...from, source }),
  authorize(caller, partition) {
    if (!permitsSome(caller.grants, 'config', 'read', partition)) {
      throw lacks(caller, { resource: 'config', access: 'read' });
    }
  },
  mayRead: (caller, { entry: { partition, name } }) =>
    permits(caller.grants, { resource: 'config', access: 'read', partition, name }),
  watched: (state, partition) => [state.watchEntry(configEntries, 'kind', kindEntry(partition, 'service-intentions'))],
});

/** All of them: of what is given several times, a query keeps the first only. */
function namesIn({ request }: Call): readonly string[] {
  const { searchParams } = new URL(request.url ?? '', 'http://of.the.path');
  const names = [...new Set(searchParams.getAll('name').filter((name) => name !== ''))];
  if (names.length === 0) throw new ServiceError('bad-request', "required query parameter 'name' not set");
  if (names.length <= MATCHED_NAMES_MAX) return names;
  throw new ServiceError('bad-request', `${names.length} names are too many, want at most ${MATCHED_NAMES_MAX}`);
}
