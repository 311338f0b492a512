/** Responses to DNS messages. Every error becomes a response code, so no message can cause an exception. */
import { addressKey } from '../../budget/address-key.ts';
import type { Measured } from '../../budget/measured.ts';
import { createRate } from '../../budget/rate.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { runInSlices, type Steps } from '../../state/clock/slices.ts';
import { answerQuestion, type Reply } from './answer-question.ts';
import {
  SLOW_QUESTIONS_MAX,
  TCP_ANSWER_BYTES_MAX,
  UDP_AMPLIFICATION_MAX,
  UDP_AMPLIFIED_BYTES_BURST,
  UDP_AMPLIFIED_BYTES_PER_SECOND,
  UDP_ANSWER_BYTES_MAX,
  UDP_ANSWER_BYTES_MIN,
} from './limits.ts';
import { parseMessage, type Query } from './query.ts';
import type { RateLimitedLog } from './rate-limited-log.ts';
import { type Rcode, type RcodeName, rcodeName, rcodes } from './rcodes.ts';
import { writeRefusal, writeReply, writeTruncated } from './write-reply.ts';
import type { Zone } from './zone.ts';

export type Transport = 'udp' | 'tcp';

export interface Responder {
  /** Returns the response, or `undefined` for a message that must not be answered. */
  respond(message: Buffer, over: Transport, address: string): Buffer | undefined | Promise<Buffer | undefined>;
  /** The rate of UDP responses that are larger than their questions. */
  readonly udpRate: Measured;
  readonly answered: ReadonlyMap<RcodeName, number>;
  readonly ignoredCount: number;
}

export function createResponder(zone: Zone, log: RateLimitedLog, clock: Clock): Responder {
  const answered = new Map<RcodeName, number>();
  let ignoredCount = 0;
  let slowCount = 0;
  const count = (rcode: Rcode): void => {
    const name = rcodeName(rcode);
    answered.set(name, (answered.get(name) ?? 0) + 1);
  };
  const limits = { perSecond: UDP_AMPLIFIED_BYTES_PER_SECOND, burst: UDP_AMPLIFIED_BYTES_BURST };
  const udpRate = createRate({ name: 'dns-udp-bytes', bound: 'address', limits, clock });
  /** Whether the sender of the question may be forged, and the response would be too much for the real owner. */
  const isTooMuch = (message: Buffer, response: Buffer, address: string): boolean =>
    response.length > UDP_AMPLIFICATION_MAX * message.length &&
    !isLoopback(address) &&
    udpRate.take(addressKey(address), response.length) > 0;

  const answer = function* (message: Buffer, query: Query, over: Transport, address: string): Steps<Buffer> {
    try {
      const reply = yield* replyTo(zone, query);
      const bytes = writeReply(query, reply, bytesMaxOf(query, over));
      count(reply.rcode);
      if (over === 'udp' && isTooMuch(message, bytes, address)) return writeTruncated(query);
      return bytes;
    } catch (error) {
      log.warn(error, 'DNS question failed');
      count(rcodes.SERVFAIL);
      return writeRefusal(message, rcodes.SERVFAIL);
    }
  };
  /** Answers in slices, because a service can have very many instances. */
  const answerInSlices = (...of: Parameters<typeof answer>): ReturnType<Responder['respond']> => {
    if (slowCount >= SLOW_QUESTIONS_MAX) {
      ignoredCount += 1;
      return undefined;
    }
    const answered = runInSlices({ begin: () => answer(...of), check: () => undefined });
    if (!(answered instanceof Promise)) return answered;
    slowCount += 1;
    return answered.finally(() => {
      slowCount -= 1;
    });
  };
  return {
    udpRate,
    respond(message, over, address) {
      const read = parseMessage(message);
      switch (read.kind) {
        case 'ignored':
          ignoredCount += 1;
          return undefined;
        case 'refused':
          count(read.rcode);
          return writeRefusal(message, read.rcode);
        case 'query':
          return answerInSlices(message, read.query, over, address);
      }
    },
    answered,
    get ignoredCount() {
      return ignoredCount;
    },
  };
}

/** Packets from other machines cannot have a loopback address. */
export const isLoopback = (address: string): boolean => /^(?:::ffff:)?127\.|^::1$/i.test(address);

function* replyTo(zone: Zone, { edns, question }: Query): Steps<Reply> {
  if (edns !== undefined && edns.version > 0) return { rcode: rcodes.BADVERS, answers: [] };
  return yield* answerQuestion(zone, question);
}

function bytesMaxOf({ edns }: Query, over: Transport): number {
  if (over === 'tcp') return TCP_ANSWER_BYTES_MAX;
  return Math.min(Math.max(edns?.payloadSize ?? 0, UDP_ANSWER_BYTES_MIN), UDP_ANSWER_BYTES_MAX);
}
