/** Classifies errors of reading from a stream, and converts statuses to errors. */
import { Code, ConnectError } from '@connectrpc/connect';
import { knownFailureReason } from '../connect-failure.ts';
import type { StreamStatus } from '../contract.ts';
import { LeaderAddressSchema } from '../wire/gen/peering/peerstream_pb.ts';
import { boundedLine } from '../wire/messages.ts';

/** `closed`: the peer sent a status. `undecodable`: malformed or too large message. `failed`: lost connection. */
export type ReadFailure =
  | { readonly type: 'closed'; readonly status: StreamStatus }
  | { readonly type: 'undecodable'; readonly status: StreamStatus }
  | { readonly type: 'failed'; readonly message: string };

/** The codes that Connect uses for messages that are malformed, incomplete, or too large. */
const UNDECODABLE_CODES: ReadonlySet<Code> = new Set([Code.InvalidArgument, Code.DataLoss, Code.ResourceExhausted]);

/** Connect uses INTERNAL for some undecodable messages and for lost connections. Only the text distinguishes them. */
const UNDECODABLE_MESSAGE = /^(parse binary: |received compressed envelope)/;

/**
 * Classifies an error of reading. Only the accepting side can end a stream with a status. Connect sets `isWireError` on
 * an error from the peer's trailers; every other error was detected locally.
 */
export function readFailure(error: unknown): ReadFailure {
  const known = knownFailureReason(error);
  if (known !== undefined) return { type: 'failed', message: known };
  if (!(error instanceof ConnectError)) {
    return { type: 'failed', message: boundedLine(error instanceof Error ? error.message : String(error)) };
  }
  const { code } = error;
  const message = boundedLine(error.rawMessage);
  if (error.isWireError) {
    const leader = error.findDetails(LeaderAddressSchema)[0]?.address;
    return { type: 'closed', status: { code, message, ...(leader && { leader }) } };
  }
  if (code === Code.Internal && UNDECODABLE_MESSAGE.test(error.rawMessage)) {
    return { type: 'undecodable', status: { code: Code.InvalidArgument, message } };
  }
  return UNDECODABLE_CODES.has(code) ? { type: 'undecodable', status: { code, message } } : { type: 'failed', message };
}

/** Returns the error that ends the accepting side's call. Undefined if the status has no code. */
export function statusError({ code, message, leader }: StreamStatus): ConnectError | undefined {
  if (code === undefined) return undefined;
  const details = leader === undefined ? [] : [{ desc: LeaderAddressSchema, value: { address: leader } }];
  return new ConnectError(message, code, undefined, details);
}
