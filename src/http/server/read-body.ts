/**
 * Reads the bodies of requests: each up to a limit, and all together within one budget.
 *
 * A body counts from its first byte until its request is answered, with a share for each address and for each caller.
 * The caller is known from the headers. A caller without a valid token may send a small body only, which the endpoint
 * needs to report errors in the documented order.
 */
import type { IncomingMessage } from 'node:http';
import { addressKey } from '../../budget/address-key.ts';
import { type Budget, createBudget } from '../../budget/budget.ts';
import type { BodyOwner, Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import {
  BODIES_ADDRESS_SHARE,
  BODIES_CALLER_SHARE,
  BODIES_RESERVE_SHARE,
  BODIES_RETRY_SECONDS,
  UNAUTHENTICATED_BODY_BYTES_MAX,
} from '../limits.ts';

export interface BodyLimit {
  readonly bytesMax: number;
  /** The setting that an operator can raise. */
  readonly setting: 'limits.body' | 'limits.bulk-body';
}

/** A complete body, whose bytes stay in the budget until `release`. */
export interface HeldBody {
  readonly bytes: Buffer;
  release(): void;
}

type BodyShare = 'address' | 'caller';

export interface BodyReader {
  readonly budget: Budget<BodyShare>;
  /** Reads the body of a request that has one. @throws ServiceError `too-large`, `rate-limited`, `overloaded` */
  read(call: Call, limit: BodyLimit): Promise<HeldBody>;
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Checks the length that the headers declare. @throws ServiceError `too-large` */
export function checkDeclaredLength({ headers }: IncomingMessage, limit: BodyLimit): void {
  if (Number(headers['content-length']) > limit.bytesMax) throw bodyTooLarge(limit);
}

export interface BodyBudgetOptions {
  /** `limits.bodies`. */
  readonly bytesMax: number;
  /** The largest body of an endpoint. Neither the total nor a share is smaller. */
  readonly largestBodyBytes: number;
}

export function createBodyReader({ bytesMax, largestBodyBytes }: BodyBudgetOptions): BodyReader {
  const total = Math.max(bytesMax, largestBodyBytes);
  const shareOf = (part: number): number => Math.max(Math.floor(total * part), largestBodyBytes);
  const budget = createBudget<BodyShare>('request-bodies', {
    total,
    reserve: Math.min(Math.floor(total * BODIES_RESERVE_SHARE), total - largestBodyBytes),
    shares: { address: shareOf(BODIES_ADDRESS_SHARE), caller: shareOf(BODIES_CALLER_SHARE) },
  });
  return { budget, read: (call, limit) => collectBody(call, ownerOf(call), limit, budget) };
}

/** Bodies of services without admission, and of unknown callers, share one key. */
const UNKNOWN_CALLER = 'unknown';
const NO_OWNER: BodyOwner = { caller: UNKNOWN_CALLER, isOperator: false };

const ownerOf = (call: Call): BodyOwner => call.route.admission?.bodyOwner(call) ?? NO_OWNER;

function collectBody(
  { request, response }: Call,
  owner: BodyOwner,
  limit: BodyLimit,
  budget: Budget<BodyShare>,
): Promise<HeldBody> {
  const isKnown = owner.caller !== undefined;
  const bytesMax = isKnown ? limit.bytesMax : Math.min(limit.bytesMax, UNAUTHENTICATED_BODY_BYTES_MAX);
  if (!isKnown && Number(request.headers['content-length']) > bytesMax) return Promise.reject(owner.refusal);
  const keys = { address: addressKey(request.socket.remoteAddress), caller: owner.caller ?? UNKNOWN_CALLER };
  const privileged = isKnown && owner.isOperator;
  let body: Buffer | undefined;
  let length = 0;

  return new Promise((resolve, reject) => {
    const stop = (error: ServiceError): void => {
      request.off('data', onData);
      budget.release({ amount: length, keys });
      length = 0;
      body = undefined;
      // Discards the rest. Closing the connection instead would reset it before a client that is still sending has read
      // the error. The request timeout bounds how long this takes.
      request.resume();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      if (length + chunk.length > bytesMax) {
        stop(isKnown ? bodyTooLarge(limit) : owner.refusal);
        return;
      }
      const bound = budget.take({ amount: chunk.length, keys, privileged });
      if (bound !== undefined) {
        stop(bodiesTooLarge(bound, budget));
        return;
      }
      body = body === undefined ? chunk : append(body, length, chunk);
      length += chunk.length;
    };
    const onEnd = (): void => {
      const held = length;
      length = 0;
      const bytes = body?.subarray(0, held) ?? NO_BYTES;
      resolve({ bytes, release: () => budget.release({ amount: held, keys }) });
    };
    request.on('data', onData);
    request.once('end', onEnd);
    request.once('error', (cause) => {
      request.off('end', onEnd);
      // The client has disconnected and does not read this message.
      stop(new ServiceError('bad-request', 'the body is incomplete', { cause }));
    });
    if (request.headers.expect !== undefined && CONTINUE.test(request.headers.expect)) response.writeContinue();
  });
}

const NO_BYTES = Buffer.alloc(0);
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Appends in place, and doubles the buffer as needed, because a body can consist of millions of small chunks. */
function append(body: Buffer, length: number, chunk: Buffer): Buffer {
  const needed = length + chunk.length;
  let target = body;
  if (needed > body.length) {
    target = Buffer.allocUnsafeSlow(Math.max(needed, 2 * body.length));
    body.copy(target, 0, 0, length);
  }
  chunk.copy(target, length);
  return target;
}

const bodyTooLarge = ({ bytesMax, setting }: BodyLimit): ServiceError =>
  new ServiceError('too-large', `The request body is larger than ${bytesMax} bytes (${setting})`);

function bodiesTooLarge(bound: 'total' | BodyShare, { limits }: Budget<BodyShare>): ServiceError {
  const options = { retryAfterSeconds: BODIES_RETRY_SECONDS };
  if (bound === 'total') {
    const text = `The bodies of requests in progress have ${limits.total} bytes already (limits.bodies)`;
    return new ServiceError('overloaded', text, options);
  }
  const text = `The bodies of requests in progress of this ${bound} have ${limits.shares[bound]} bytes already (a share of limits.bodies)`;
  return new ServiceError('rate-limited', text, options);
}
