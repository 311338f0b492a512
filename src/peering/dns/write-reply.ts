/** Replies as messages no longer than the asker takes: what does not fit is left out, and that is said. */
import { type Answer, AUTHORITATIVE_ANSWER, encode, encodingLength, TRUNCATED_RESPONSE } from 'dns-packet';
import type { Reply } from './answer-question.ts';
import { UDP_ANSWER_BYTES_MAX } from './limits.ts';
import { answerFlags, type Edns, HEADER_BYTES, type Query, RECURSION_DESIRED } from './query.ts';
import { type Rcode, rcodes } from './rcodes.ts';

/** The header alone, for a message that cannot be answered. @param message one with a whole header */
export function writeRefusal(message: Buffer, rcode: Rcode): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(message.readUInt16BE(0), 0);
  header.writeUInt16BE(answerFlags(message) | rcode, 2);
  return header;
}

/** A whole answer of at most `bytesMax`, if the question itself leaves room. */
export function writeReply(
  { id, recursionDesired, question, questionBytes, edns }: Query,
  reply: Reply,
  bytesMax: number,
): Buffer {
  const options = edns === undefined ? [] : [ednsRecord(edns, reply.rcode)];
  const authorities = reply.authority === undefined ? [] : [reply.authority];
  const fixed = HEADER_BYTES + questionBytes.length + lengthOf(options) + lengthOf(authorities);
  const { answers, additionals, isCut } = fill(reply, bytesMax - fixed);
  const message = encode({
    id,
    type: 'response',
    flags:
      (reply.rcode === rcodes.NOERROR || reply.rcode === rcodes.NXDOMAIN ? AUTHORITATIVE_ANSWER : 0) |
      (recursionDesired ? RECURSION_DESIRED : 0) |
      (isCut ? TRUNCATED_RESPONSE : 0) |
      (reply.rcode & HEADER_RCODE),
    questions: [question],
    answers,
    authorities,
    additionals: [...additionals, ...options],
  });
  // The name has been compared with what was encoded of it; type and class may be ones that have no name.
  questionBytes.copy(message, HEADER_BYTES);
  return message;
}

/** What of an outcome stands in the header; the rest is in EDNS. */
const HEADER_RCODE = 0xf;
const HEADER_RCODE_BITS = 4;

const lengthOf = (records: Answer[]): number => encodingLength({ answers: records }) - HEADER_BYTES;

/** Answers go before what only saves a further question, and only a missing answer makes the whole incomplete. */
function fill({ answers: given }: Reply, bytesMax: number) {
  const answers: Answer[] = [];
  const additionals: Answer[] = [];
  const helpful = new Map<string, Answer>();
  let left = bytesMax;
  let isCut = false;
  for (const { record, additional } of given) {
    const length = lengthOf([record]);
    isCut = length > left;
    if (isCut) break;
    left -= length;
    answers.push(record);
    if (additional !== undefined) helpful.set(additional.name, additional);
  }
  for (const additional of helpful.values()) {
    const length = lengthOf([additional]);
    if (length > left) break;
    left -= length;
    additionals.push(additional);
  }
  return { answers, additionals, isCut };
}

const ednsRecord = ({ flags }: Edns, rcode: Rcode): Answer => ({
  type: 'OPT',
  name: '.',
  udpPayloadSize: UDP_ANSWER_BYTES_MAX,
  extendedRcode: rcode >> HEADER_RCODE_BITS,
  ednsVersion: 0,
  flags,
  flag_do: false,
  options: [],
});
