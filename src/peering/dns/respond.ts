/** Responses to DNS messages. Every error becomes a response code, so no message can cause an exception. */
import { answerQuestion, type Reply } from './answer-question.ts';
import { TCP_ANSWER_BYTES_MAX, UDP_ANSWER_BYTES_MAX, UDP_ANSWER_BYTES_MIN } from './limits.ts';
import { parseMessage, type Query } from './query.ts';
import type { RateLimitedLog } from './rate-limited-log.ts';
import { type Rcode, type RcodeName, rcodeName, rcodes } from './rcodes.ts';
import { writeRefusal, writeReply } from './write-reply.ts';
import type { Zone } from './zone.ts';

export type Transport = 'udp' | 'tcp';

export interface Responder {
  /** Returns the response, or `undefined` for a message that must not be answered. */
  respond(message: Buffer, over: Transport): Buffer | undefined;
  readonly answered: ReadonlyMap<RcodeName, number>;
  readonly ignoredCount: number;
}

export function createResponder(zone: Zone, log: RateLimitedLog): Responder {
  const answered = new Map<RcodeName, number>();
  let ignoredCount = 0;
  const count = (rcode: Rcode): void => {
    const name = rcodeName(rcode);
    answered.set(name, (answered.get(name) ?? 0) + 1);
  };
  const answer = (message: Buffer, query: Query, over: Transport): Buffer => {
    try {
      const reply = replyTo(zone, query);
      const bytes = writeReply(query, reply, bytesMaxOf(query, over));
      count(reply.rcode);
      return bytes;
    } catch (error) {
      log.warn(error, 'DNS question failed');
      count(rcodes.SERVFAIL);
      return writeRefusal(message, rcodes.SERVFAIL);
    }
  };
  return {
    respond(message, over) {
      const read = parseMessage(message);
      switch (read.kind) {
        case 'ignored':
          ignoredCount += 1;
          return undefined;
        case 'refused':
          count(read.rcode);
          return writeRefusal(message, read.rcode);
        case 'query':
          return answer(message, read.query, over);
      }
    },
    answered,
    get ignoredCount() {
      return ignoredCount;
    },
  };
}

const replyTo = (zone: Zone, { edns, question }: Query): Reply =>
  edns !== undefined && edns.version > 0 ? { rcode: rcodes.BADVERS, answers: [] } : answerQuestion(zone, question);

function bytesMaxOf({ edns }: Query, over: Transport): number {
  if (over === 'tcp') return TCP_ANSWER_BYTES_MAX;
  return Math.min(Math.max(edns?.payloadSize ?? 0, UDP_ANSWER_BYTES_MIN), UDP_ANSWER_BYTES_MAX);
}
