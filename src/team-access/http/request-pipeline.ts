/**
 * The request pipeline of team access after the rate limit (429, see admission.ts): authentication (401), content
 * negotiation (415, 406), then the endpoint handler. A read uses one snapshot. A write authenticates the caller again in
 * its transaction ([TEAM-25]).
 */
import { Type } from 'typebox';
import type { Origin } from '../../audit/record.ts';
import { users } from '../../credentials/user.ts';
import {
  type Answer,
  type Call,
  checkConnected,
  parameterFamily,
  polledDisconnectSignal,
  type Query,
} from '../../http/call.ts';
import { QUOTED_LENGTH_MAX } from '../../http/limits.ts';
import type { Parameter } from '../../http/parameter.ts';
import { undeclaredParameter } from '../../http/query-rules.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { NeedsSteps, runAtOnce, runInSlices, type Steps, withNeededSteps } from '../../state/clock/slices.ts';
import { WRITE_BYTES_DEFAULT } from '../../state/limits.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { State } from '../../state/state.ts';
import type { WriteCaller } from '../../state/write/admission.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import type { WriteOptions } from '../../state/write/write-queue.ts';
import { authenticate, type Caller, callerId, presentedTokenHash, withCachedRoles } from '../authorization/caller.ts';
import { forgettingChangedRoles } from '../authorization/role-changes.ts';
import { checkAccept, checkContentType, NO_CONTENT, rejectIfMatch } from '../jsonapi/documents.ts';
import { errorAnswer } from '../jsonapi/error-answer.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { INVALID_INCLUDE } from '../jsonapi/include.ts';
import { LARGE_BODY_BYTES } from '../limits.ts';
import { organizations } from '../tables/organization.ts';
import { teams } from '../tables/team.ts';
import type { LargeWrites } from './large-writes.ts';
import type { OrganizationQuota } from './organization-quota.ts';
import type { TokenUses } from './record-token-uses.ts';

/** Whether a person with an account joins an organization at once when they are added, or by accepting. */
export type Invitations = 'automatic' | 'accept';

/** The dependencies of all endpoints. */
export interface TeamAccessService {
  readonly state: State;
  readonly largeWrites: LargeWrites;
  readonly tokenUses: TokenUses;
  /** Whether `compat` contains `terraform`. */
  readonly terraform: boolean;
  readonly clock: Clock;
  readonly organizationQuota: OrganizationQuota;
  /** `team-access.invitations`. */
  readonly invitations: Invitations;
  /** Whether parameters of this family select data, so that an endpoint that does not know them refuses them. */
  readonly isSelecting: (family: string) => boolean;
}

export interface WriteContext {
  readonly tx: Transaction;
  readonly caller: Caller;
  readonly origin: Origin;
  readonly invitations: Invitations;
}

export interface WriteSpec<Body> extends WriteRules<Body> {
  /** Reads the body, before any lookup. @throws JsonApiError */
  readonly parse: (call: Call) => Body;
  /** Authorizes, checks and makes the change. May run more than once. @throws JsonApiError */
  readonly change: (context: WriteContext, body: Body) => Answer;
}

/** A write whose body can contain thousands of items. Its steps pause after each item. */
export interface LargeWriteSpec<Body> extends WriteRules<Body> {
  readonly parse: (call: Call) => Steps<Body>;
  /** Whether the write is large although its body is short. */
  readonly isLarge?: (reader: Reader, caller: Caller) => boolean;
  readonly change: (context: WriteContext, body: Body) => Steps<Answer>;
}

interface WriteRules<Body> {
  /** Negotiates the content types. Absent if the endpoint uses the media type of JSON:API. @throws JsonApiError */
  readonly negotiate?: (call: Call) => void;
  /** Whether `change` checks `If-Match`. Otherwise the pipeline rejects requests with `If-Match`. */
  readonly conditional?: true;
  /** Whether to roll the write back. Absent if the endpoint has no dry run. */
  readonly isDryRun?: (body: Body) => boolean;
}

/**
 * Serves a read. `mediaType` is the media type of an answer that is not JSON:API. The answer is also sent to clients
 * that accept only JSON:API.
 */
export function serveRead(
  service: TeamAccessService,
  call: Call,
  read: (reader: Snapshot, caller: Caller) => Answer | Promise<Answer>,
  mediaType?: string,
): Answer | Promise<Answer> {
  const { state } = service;
  const run = (): Answer | Promise<Answer> =>
    withCaller(service, call, (caller) => {
      checkAccept(call, mediaType);
      checkQuery(service, call);
      const { snapshot } = state;
      const reading = withCachedRoles(caller, { pauses: true });
      return withNeeds(call, () => read(snapshot, reading));
    });
  const barrier = state.consistent();
  return barrier === undefined ? run() : barrier.then(run);
}

/** Calls `read`, and again each time it needs steps. */
function withNeeds(call: Call, read: () => Answer | Promise<Answer>): Answer | Promise<Answer> {
  const retry = async (thrown: unknown): Promise<Answer> => {
    for (let error = thrown; ; ) {
      if (!(error instanceof NeedsSteps)) throw error;
      await runSteps(call, error.steps);
      try {
        return await read();
      } catch (next) {
        error = next;
      }
    }
  };
  try {
    const answer = read();
    return answer instanceof Promise ? answer.catch(retry) : answer;
  } catch (error) {
    if (error instanceof NeedsSteps) return retry(error);
    throw error;
  }
}

/**
 * Serves a read whose answer can be long. It runs in slices, on one snapshot. A short one is answered without a pause.
 */
export const serveLongRead = (
  service: TeamAccessService,
  call: Call,
  read: (reader: Snapshot, caller: Caller) => Steps<Answer>,
): Answer | Promise<Answer> =>
  serveRead(service, call, (reader, caller) => runSteps(call, () => withNeededSteps(() => read(reader, caller))));

const runSteps = <T>(call: Call, begin: () => Steps<T>): T | Promise<T> =>
  runInSlices({ begin, check: () => checkConnected(call) });

/** Serves a write and answers when it is durable. */
export const serveWrite = <Body>(service: TeamAccessService, call: Call, spec: WriteSpec<Body>): Promise<Answer> =>
  withWriter(service, call, spec, async (caller) => {
    const body = spec.parse(call);
    const run = (tx: Transaction): Answer => spec.change(writeContext(service, call, tx), body);
    return await service.state.write(
      run,
      writeOptions(call, writeCallerOf(service.state.snapshot, caller), spec, body),
    );
  });

/**
 * Serves a write that can be large. A large body is parsed and applied in slices, and each caller has one such request
 * at a time ([TEAM-111], [TEAM-112]).
 */
export const serveLargeWrite = <Body>(
  service: TeamAccessService,
  call: Call,
  spec: LargeWriteSpec<Body>,
): Promise<Answer> =>
  withWriter(service, call, spec, async (caller) => {
    const { state, largeWrites } = service;
    const charged = writeCallerOf(state.snapshot, caller);
    if (call.body.length <= LARGE_BODY_BYTES && spec.isLarge?.(state.snapshot, caller) !== true) {
      const body = runAtOnce(spec.parse(call));
      const run = (tx: Transaction): Answer => runAtOnce(spec.change(writeContext(service, call, tx), body));
      return await state.write(run, writeOptions(call, charged, spec, body));
    }
    using _turn = largeWrites.begin(callerId(caller));
    const body = await runSteps(call, () => spec.parse(call));
    const run = (tx: Transaction): Steps<Answer> => spec.change(writeContext(service, call, tx), body);
    return await state.writeInSlices(run, writeOptions(call, charged, spec, body));
  });

/** Makes the checks that precede the body of a write. */
async function withWriter<Body>(
  service: TeamAccessService,
  call: Call,
  { negotiate = negotiateJsonApi, conditional }: WriteRules<Body>,
  write: (caller: Caller) => Promise<Answer>,
): Promise<Answer> {
  await service.state.consistent();
  return await withCaller(service, call, async (caller) => {
    negotiate(call);
    if (conditional === undefined) rejectIfMatch(call);
    checkQuery(service, call);
    return await write(caller);
  });
}

/** Authenticates the caller in the transaction. The role is computed again only when the write changes it. */
function writeContext({ invitations }: TeamAccessService, call: Call, tx: Transaction): WriteContext {
  const caller = withCachedRoles(authenticate(tx, presentedTokenHash(call)));
  return { tx: forgettingChangedRoles(tx, caller), caller, origin: originOf(call, caller), invitations };
}

/**
 * Returns the caller to whom a write is charged. Users can have many organizations and teams with tokens of their own, so
 * the tokens of an organization and its teams count as the user who created it, except site administrators.
 */
function writeCallerOf(reader: Snapshot, caller: Caller): WriteCaller {
  if (caller.kind === 'user') return { rateKey: `user/${caller.userId}`, isOperator: caller.siteAdmin };
  const organizationId =
    caller.kind === 'organization' ? caller.organizationId : reader.get(teams, caller.teamId)?.row.organizationId;
  const makerId = organizationId && reader.get(organizations, organizationId)?.row.makerId;
  const maker = makerId === undefined ? undefined : reader.get(users, makerId)?.row;
  const isCharged = maker !== undefined && !maker.siteAdmin;
  return { rateKey: isCharged ? `user/${maker.id}` : `organization/${organizationId}`, isOperator: false };
}

const writeOptions = <Body>(
  call: Call,
  caller: WriteCaller,
  { isDryRun }: WriteRules<Body>,
  body: Body,
): WriteOptions => ({
  caller,
  signal: polledDisconnectSignal(call.request.socket),
  bytes: WRITE_BYTES_DEFAULT + call.body.length,
  dryRun: isDryRun?.(body) ?? false,
});

/** Serves the deletion of one resource that has an `ETag`, and answers 204 when it is durable. */
export const serveDelete = (
  service: TeamAccessService,
  call: Call,
  remove: (context: WriteContext) => void,
): Promise<Answer> =>
  serveWrite(service, call, {
    conditional: true,
    parse: () => undefined,
    change(context) {
      remove(context);
      return NO_CONTENT;
    },
  });

function negotiateJsonApi(call: Call): void {
  checkContentType(call);
  checkAccept(call);
}

const originOf = ({ request, id }: Call, caller: Caller): Origin => ({
  actor: callerId(caller),
  address: request.socket.remoteAddress ?? '',
  requestId: id,
});

/** Serves a request that needs no token. */
export function servePublic(
  service: TeamAccessService,
  call: Call,
  answer: () => Answer | Promise<Answer>,
): Answer | Promise<Answer> {
  try {
    checkQuery(service, call);
    return answer();
  } catch (error) {
    return answerError(error);
  }
}

/**
 * Refuses a parameter that selects data and that the endpoint does not declare ([DOC-28]). The detail of an unknown
 * `include` is a fixed text, because clients compare it.
 * @throws JsonApiError `bad-request`
 */
function checkQuery({ isSelecting }: TeamAccessService, call: Call): void {
  const name = undeclaredParameter(call, isSelecting);
  if (name === undefined) return;
  const family = parameterFamily(name);
  const quoted = JSON.stringify(name.slice(0, QUOTED_LENGTH_MAX));
  const detail = `Invalid ${family} parameter ${quoted}: this endpoint has ${call.route.query.join(', ') || 'none'}`;
  throw new JsonApiError([
    { code: 'bad-request', detail: family === 'include' ? INVALID_INCLUDE : detail, parameter: name },
  ]);
}

/** Requires a valid token, records its use, and converts JsonApiError to an answer. */
function withCaller<Result extends Answer | Promise<Answer>>(
  { state, tokenUses }: TeamAccessService,
  call: Call,
  run: (caller: Caller) => Result,
): Result | Answer {
  try {
    const caller = authenticate(state.snapshot, presentedTokenHash(call));
    tokenUses.recordUse(caller);
    const result = run(caller);
    // Stays synchronous unless `run` returns a promise.
    return result instanceof Promise ? (result.catch(answerError) as Result) : result;
  } catch (error) {
    return answerError(error);
  }
}

/** @throws any other error */
function answerError(error: unknown): Answer {
  if (error instanceof JsonApiError) return errorAnswer(error);
  throw error;
}

export const DRY_RUN: Parameter = {
  name: 'dry-run',
  description: 'Without a value or with `true`, evaluates the request completely and changes nothing.',
  schema: Type.Literal('true'),
  flag: true,
};

/** Whether a request asks for a dry run. @throws JsonApiError `bad-request` */
export const readDryRun = (query: Query): boolean => readFlag(query, DRY_RUN);

/**
 * Whether a flag is set. Rejects a value other than `true`, because ignoring it would make an unwanted change.
 * @throws JsonApiError `bad-request`
 */
export function readFlag(query: Query, { name }: Parameter): boolean {
  const value = query.get(name);
  if (value === undefined) return false;
  if (value === '' || value === 'true') return true;
  throw new JsonApiError([{ code: 'bad-request', detail: `${name} must be true, or have no value`, parameter: name }]);
}
