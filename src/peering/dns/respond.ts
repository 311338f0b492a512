/** From a message to the answer, whatever the message is; nothing that comes over the network gets past here as an error. */
import { answerQuestion, type Reply } from './answer-question.ts';
import { TCP_ANSWER_BYTES_MAX, UDP_ANSWER_BYTES_MAX, UDP_ANSWER_BYTES_MIN } from './limits.ts';
import { type Query, readMessage } from './query.ts';
import type { QuietLog } from './rate-limited-log.ts';
import { type Rcode, type RcodeName, rcodeName, rcodes } from './rcodes.ts';
import { writeRefusal, writeReply } from './write-reply.ts';
import type { Zone } from './zone.ts';

export type Transport = 'udp' | 'tcp';

export interface Responder {
  /** @returns undefined: it is not answered */
  respond(message: Buffer, over: Transport): Buffer | undefined;
  /** Answers by outcome. */
  readonly answered: ReadonlyMap<RcodeName, number>;
  /** Messages that were not answered. */
  readonly ignoredCount: number;
}

/** Nothing asked yet. */
export function createResponder(zone: Zone, log: QuietLog): Responder {
  const answered = new Map<RcodeName, number>();
  let ignoredCount = 0;
  const count = (rcode: Rcode): void => {
    const name = rcodeName(rcode);
    answered.set(name, (answered.get(name) ?? 0) + 1);
  };
  const written = (message: Buffer, query: Query, over: Transport): Buffer => {
    try {
      const reply = replyTo(zone, query);
      const bytes = writeReply(query, reply, bytesMaxOf(query, over));
      count(reply.rcode);
      return bytes;
    } catch (error) {
      log.warn(error, 'questions over DNS cannot be answered');
      count(rcodes.SERVFAIL);
      return writeRefusal(message, rcodes.SERVFAIL);
    }
  };
  return {
    respond(message, over) {
      const read = readMessage(message);
      switch (read.kind) {
        case 'ignored':
          ignoredCount += 1;
          return undefined;
        case 'refused':
          count(read.rcode);
          return writeRefusal(message, read.rcode);
        case 'query':
          return written(message, read.query, over);
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
