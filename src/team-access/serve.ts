/**
 * The way of every request of team access: who calls (401), how often (429), what is declared and wanted (415, 406), and
 * only then the endpoint. A read works on one picture of the state; a write looks the caller up again in its own.
 */
import type { Origin } from '../audit/record.ts';
import type { Answer } from '../http/answer.ts';
import type { Call } from '../http/call.ts';
import type { Clock } from '../state/clock.ts';
import { WRITE_BYTES_DEFAULT } from '../state/limits.ts';
import type { Snapshot } from '../state/snapshot.ts';
import type { State } from '../state/state.ts';
import type { Transaction } from '../state/transaction.ts';
import { authenticate, type Caller, callerId, callerOf, presentedHash, unauthorized } from './caller.ts';
import { refuseDryRun } from './dry-run.ts';
import { refusalAnswer } from './jsonapi/error-answer.ts';
import { JsonApiError } from './jsonapi/errors.ts';
import { checkAccept, checkContentType } from './jsonapi/media-type.ts';
import type { RateLimit } from './rate-limit.ts';
import type { TokenUses } from './tokens/record-uses.ts';

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
  { parse, change, negotiate = negotiatePlain, isDryRun }: Write<Body>,
): Promise<Answer> {
  const { state } = service;
  await state.consistent();
  const secretHash = presentedHash(call);
  return await admitted(service, call, async () => {
    negotiate(call);
    if (isDryRun === undefined) refuseDryRun(call.query);
    const body = parse(call);
    const run = (tx: Transaction): Answer => {
      const caller = authenticate(tx, secretHash);
      return change({ tx, caller, origin: originOf(call, caller) }, body);
    };
    const dryRun = isDryRun?.(body) ?? false;
    return await state.write(run, { bytes: WRITE_BYTES_DEFAULT + call.body.length, dryRun });
  });
}

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

/** Lets a caller in and answers what refuses it; every answer tells how many requests are left. */
function admitted<Result extends Answer | Promise<Answer>>(
  { state, rateLimit, tokenUses }: TeamAccess,
  call: Call,
  run: (caller: Caller) => Result,
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
    limits = rateLimit.count(caller === undefined ? `address ${call.request.socket.remoteAddress}` : callerId(caller));
    if (caller === undefined) throw unauthorized();
    tokenUses.used(caller);
    const result = run(caller);
    // Of a promise the same promise comes out, of an answer an answer.
    if (result instanceof Promise) return result.then(withLimits, refused) as Result;
    return withLimits(result);
  } catch (error) {
    return refused(error);
  }
}
