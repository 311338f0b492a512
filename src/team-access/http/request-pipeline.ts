/**
 * The way of every request of team access: who calls (401), how often (429), what is declared and wanted (415, 406), and
 * only then the endpoint. A read works on one picture of the state; a write looks the caller up again in its own.
 */
import type { Origin } from '../../audit/record.ts';
import type { Answer } from '../../http/answer.ts';
import { type Call, leftOf } from '../../http/call.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { WRITE_BYTES_DEFAULT } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { State } from '../../state/state.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { authenticate, type Caller, callerId, callerOf, presentedHash, unauthorized } from '../authorization/caller.ts';
import { nothingAnswer, refuseIfMatch } from '../jsonapi/documents.ts';
import { refusalAnswer } from '../jsonapi/error-answer.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { checkAccept, checkContentType } from '../jsonapi/media-type.ts';
import { teams } from '../tables/team.ts';
import { refuseDryRun } from './dry-run.ts';
import type { Counted, RateLimit } from './rate-limit.ts';
import type { TokenUses } from './record-token-uses.ts';

/** What all endpoints of team access share. */
export interface TeamAccess {
  readonly state: State;
  readonly rateLimit: RateLimit;
  readonly tokenUses: TokenUses;
  /** `compat = terraform`. */
  readonly terraform: boolean;
  readonly clock: Clock;
}

/** What a write runs with, for one caller. */
export interface Writing {
  readonly tx: Transaction;
  readonly caller: Caller;
  readonly origin: Origin;
}

/** What a write is made of. */
export interface Write<Body> {
  /** Reads the body, before anything is looked up for it. @throws JsonApiError */
  readonly parse: (call: Call) => Body;
  /** Authorizes, checks and changes; may run more than once. @throws JsonApiError */
  readonly change: (writing: Writing, body: Body) => Answer;
  /** Checks what is declared and wanted, where that is not JSON:API alone. @throws JsonApiError */
  readonly negotiate?: (call: Call) => void;
  /** `change` holds `If-Match` against what is there; unless given, who sends one is refused. */
  readonly conditional?: true;
  /** Whether nothing of it is kept; unless given, everything is, and who asks for a dry run is refused. */
  readonly isDryRun?: (body: Body) => boolean;
}

/** Answers a read. `mediaType`: of the answer, where it is not JSON:API; who takes JSON:API takes that too. */
export function serveRead(
  service: TeamAccess,
  call: Call,
  read: (reader: Snapshot, caller: Caller) => Answer | Promise<Answer>,
  mediaType?: string,
): Answer | Promise<Answer> {
  const { state } = service;
  const run = (): Answer | Promise<Answer> =>
    admitted(service, call, (caller) => {
      checkAccept(call, mediaType);
      return read(state.snapshot, caller);
    });
  const barrier = state.consistent();
  return barrier === undefined ? run() : barrier.then(run);
}

/** Answers a write, once it is durable. */
export async function serveWrite<Body>(
  service: TeamAccess,
  call: Call,
  { parse, change, negotiate = negotiatePlain, conditional, isDryRun }: Write<Body>,
): Promise<Answer> {
  const { state } = service;
  await state.consistent();
  const secretHash = presentedHash(call);
  return await admitted(service, call, async () => {
    negotiate(call);
    if (conditional === undefined) refuseIfMatch(call);
    if (isDryRun === undefined) refuseDryRun(call.query);
    const body = parse(call);
    const run = (tx: Transaction): Answer => {
      const caller = authenticate(tx, secretHash);
      return change({ tx, caller, origin: originOf(call, caller) }, body);
    };
    const dryRun = isDryRun?.(body) ?? false;
    const signal = leftOf(call.request.socket);
    return await state.write(run, { signal, bytes: WRITE_BYTES_DEFAULT + call.body.length, dryRun });
  });
}

/** Answers what takes one thing away, which has an `ETag`: 204, once that is durable. */
export const serveRemoval = (service: TeamAccess, call: Call, remove: (writing: Writing) => void): Promise<Answer> =>
  serveWrite(service, call, {
    conditional: true,
    parse: () => undefined,
    change(writing) {
      remove(writing);
      return nothingAnswer;
    },
  });

function negotiatePlain(call: Call): void {
  checkContentType(call);
  checkAccept(call);
}

/** Where a change comes from, for the audit log. */
const originOf = ({ request, id }: Call, caller: Caller): Origin => ({
  actor: callerId(caller),
  address: request.socket.remoteAddress ?? '',
  requestId: id,
});

/** Answers a request for which nobody has to say who they are. */
export const serveOpen = (
  service: TeamAccess,
  call: Call,
  answer: () => Answer | Promise<Answer>,
): Answer | Promise<Answer> => counted(service, call, answer);

/**
 * Counts a request that no endpoint takes. @returns the headers of its refusal
 * @throws ServiceError `rate-limited`
 */
export function countUnserved({ state, rateLimit }: TeamAccess, call: Call): readonly string[] {
  try {
    const reader = state.snapshot;
    return rateLimit.count(countedAs(reader, callerOf(reader, presentedHash(call)), call));
  } catch (error) {
    if (!(error instanceof JsonApiError)) throw error;
    throw new ServiceError('rate-limited', error.message, { headers: error.headers });
  }
}

/** Lets a caller in. */
const admitted = <Result extends Answer | Promise<Answer>>(
  service: TeamAccess,
  call: Call,
  run: (caller: Caller) => Result,
): Result | Answer =>
  counted(service, call, (caller) => {
    if (caller === undefined) throw unauthorized();
    service.tokenUses.used(caller);
    return run(caller);
  });

/** Counts a request and answers what refuses it; every answer tells how many requests are left. */
function counted<Result extends Answer | Promise<Answer>>(
  { state, rateLimit }: TeamAccess,
  call: Call,
  run: (caller: Caller | undefined) => Result,
): Result | Answer {
  let limits: readonly string[] = [];
  const withLimits = (answer: Answer): Answer =>
    limits.length === 0 ? answer : { ...answer, headers: [...(answer.headers ?? []), ...limits] };
  const refused = (error: unknown): Answer => {
    if (error instanceof JsonApiError) return withLimits(refusalAnswer(error));
    throw error;
  };
  try {
    const caller = callerOf(state.snapshot, presentedHash(call));
    limits = rateLimit.count(countedAs(state.snapshot, caller, call));
    const result = run(caller);
    // Of a promise the same promise comes out, of an answer an answer.
    if (result instanceof Promise) return result.then(withLimits, refused) as Result;
    return withLimits(result);
  } catch (error) {
    return refused(error);
  }
}

/** Out of whose allowance a request comes. */
function countedAs(reader: Snapshot, caller: Caller | undefined, { request }: Call): Counted {
  if (caller === undefined) return { who: `address ${request.socket.remoteAddress}` };
  if (caller.kind !== 'team') return { who: callerId(caller) };
  const organizationId = reader.get(teams, caller.teamId)?.row.organizationId;
  return { who: caller.teamId, sharing: `teams of ${organizationId}` };
}
