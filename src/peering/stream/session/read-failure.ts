/** What the failure of reading from a stream means. */
import { Code, ConnectError } from '@connectrpc/connect';
import { knownFailure } from '../connect-failure.ts';
import type { StreamStatus } from '../contract.ts';
import { LeaderAddressSchema } from '../wire/gen/peering/peerstream_pb.ts';
import { bounded } from '../wire/messages.ts';

/** The other side's own word, a message that is none, or a connection that is gone. */
export type ReadFailure =
  | { readonly type: 'closed'; readonly status: StreamStatus }
  | { readonly type: 'undecodable'; readonly status: StreamStatus }
  | { readonly type: 'failed'; readonly message: string };

/** How Connect names what it cannot decode, what is cut short and what is too large. */
const UNDECODABLE: ReadonlySet<Code> = new Set([Code.InvalidArgument, Code.DataLoss, Code.ResourceExhausted]);

/** Some of it Connect names INTERNAL, as it does connections that broke; the words tell which. */
const NO_MESSAGE = /^(parse binary: |received compressed envelope)/;

/**
 * Only the accepting side can end a stream with a status; Connect marks an error that came with the other side's trailers
 * as one from the wire, and every other one was found here.
 */
export function readFailure(error: unknown): ReadFailure {
  const known = knownFailure(error);
  if (known !== undefined) return { type: 'failed', message: known };
  if (!(error instanceof ConnectError)) {
    return { type: 'failed', message: bounded(error instanceof Error ? error.message : String(error)) };
  }
  const { code } = error;
  const message = bounded(error.rawMessage);
  if (error.isWireError) {
    const leader = error.findDetails(LeaderAddressSchema)[0]?.address;
    return { type: 'closed', status: { code, message, ...(leader && { leader }) } };
  }
  if (code === Code.Internal && NO_MESSAGE.test(error.rawMessage)) {
    return { type: 'undecodable', status: { code: Code.InvalidArgument, message } };
  }
  return UNDECODABLE.has(code) ? { type: 'undecodable', status: { code, message } } : { type: 'failed', message };
}

/** A status as the error that ends the accepting side's call; `undefined` for an end without one. */
export function statusError({ code, message, leader }: StreamStatus): ConnectError | undefined {
  if (code === undefined) return undefined;
  const details = leader === undefined ? [] : [{ desc: LeaderAddressSchema, value: { address: leader } }];
  return new ConnectError(message, code, undefined, details);
}
