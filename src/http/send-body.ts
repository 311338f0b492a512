/**
 * Sends large response bodies in pieces, and bounds the bodies that clients have not received yet [SRV-111].
 *
 * Node copies a text that it sends out of V8's heap at once. In pieces, only one piece per connection is copied, however
 * slowly its client reads. Equal bodies, such as one list for thousands of waiting queries, count once.
 */
import type { ServerResponse } from 'node:http';
import { type Budget, createBudget } from '../budget/budget.ts';
import { answerLimits } from './answer-limits.ts';
import { PIECE_BYTES } from './limits.ts';

type Body = string | Buffer;

/** A body that is being sent in pieces. */
interface Sending {
  readonly connections: number;
  /** Whether the budget contains the body. It had no room for the answer to a write, which is sent nevertheless. */
  readonly isCounted: boolean;
}

/** The bodies that are being sent in pieces. */
export interface UnsentBodies {
  readonly budget: Budget;
  /** Sends a body larger than PIECE_BYTES, even if the budget has no room for it. The headers are written. */
  send(response: ServerResponse, body: Body): void;
  /** Whether the budget has room for a body. A body that is being sent has room. */
  hasRoomFor(body: Body, bytes: number): boolean;
}

export function createUnsentBodies(): UnsentBodies {
  const sending = new Map<Body, Sending>();
  const limits = { total: answerLimits().unsentBytesMax, shares: {} };
  const budget = createBudget('unsent-bodies', limits);
  /** A body that is larger than the budget may be sent alone. */
  const claimOf = (body: Body) => ({ amount: Math.min(memoryOf(body), limits.total), keys: {} });

  const release = (body: Body): void => {
    const { connections, isCounted } = sending.get(body) as Sending; // because `send` has added it
    if (connections > 1) {
      sending.set(body, { connections: connections - 1, isCounted });
    } else {
      sending.delete(body);
      if (isCounted) budget.release(claimOf(body));
    }
  };

  return {
    budget,
    hasRoomFor(body, bytes) {
      if (bytes <= PIECE_BYTES || sending.has(body)) return true;
      const claim = claimOf(body);
      if (budget.take(claim) !== undefined) return false;
      budget.release(claim);
      return true;
    },
    send(response, body) {
      const { connections, isCounted } = sending.get(body) ?? {
        connections: 0,
        isCounted: budget.take(claimOf(body)) === undefined,
      };
      sending.set(body, { connections: connections + 1, isCounted });
      response.once('close', () => release(body));
      sendFrom(response, body, 0);
    },
  };
}

/** V8 stores a text with two bytes for each character if one of them needs it. Takes the higher size for all texts. */
const memoryOf = (body: Body): number => (typeof body === 'string' ? 2 * body.length : body.length);

/** Writes pieces until the connection's buffer is full, and continues when it is empty. */
function sendFrom(response: ServerResponse, body: Body, start: number): void {
  let from = start;
  while (!response.destroyed) {
    const to = endOfPiece(body, from, PIECE_BYTES);
    const piece = typeof body === 'string' ? body.slice(from, to) : body.subarray(from, to);
    if (to === body.length) {
      response.end(piece);
      return;
    }
    from = to;
    if (!response.write(piece)) {
      response.once('drain', () => sendFrom(response, body, from));
      return;
    }
  }
}

/** Returns the end of the piece at `from`, not between the two halves of a surrogate pair. */
export function endOfPiece(body: Body, from: number, length: number): number {
  const to = Math.min(from + length, body.length);
  if (typeof body !== 'string' || to === body.length) return to;
  return isHighSurrogate(body.charCodeAt(to - 1)) ? to - 1 : to;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
