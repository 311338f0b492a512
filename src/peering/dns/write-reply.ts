/** Encoding of replies. A reply that exceeds the size limit is truncated and has the TC flag. */
import { type Answer, AUTHORITATIVE_ANSWER, encode, encodingLength, TRUNCATED_RESPONSE } from 'dns-packet';
import type { Reply } from './answer-question.ts';
import { UDP_ANSWER_BYTES_MAX } from './limits.ts';
import { answerFlags, type Edns, HEADER_BYTES, type Query, RECURSION_DESIRED } from './query.ts';
import { type Rcode, rcodes } from './rcodes.ts';

/** Encodes a response without records. @param message the message, with a complete header */
export function writeRefusal(message: Buffer, rcode: Rcode): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(message.readUInt16BE(0), 0);
  header.writeUInt16BE(answerFlags(message) | rcode, 2);
  return header;
}

/** Encodes a truncated reply without records, which is no larger than its question. */
export const writeTruncated = (query: Query): Buffer =>
  writeReply(query, { rcode: rcodes.NOERROR, answers: [] }, 0, true);

/** Encodes a reply of at most `bytesMax` bytes, unless the question alone is longer. */
export function writeReply(
  { id, recursionDesired, question, questionBytes, edns }: Query,
  reply: Reply,
  bytesMax: number,
  alwaysTruncated = false,
): Buffer {
  const options = edns === undefined ? [] : [ednsRecord(edns, reply.rcode)];
  const authorities = reply.authority === undefined ? [] : [reply.authority];
  const fixed = HEADER_BYTES + questionBytes.length + encodedLength(options) + encodedLength(authorities);
  const { answers, additionals, isTruncated } = fitRecords(reply, bytesMax - fixed);
  const message = encode({
    id,
    type: 'response',
    flags:
      (reply.rcode === rcodes.NOERROR || reply.rcode === rcodes.NXDOMAIN ? AUTHORITATIVE_ANSWER : 0) |
      (recursionDesired ? RECURSION_DESIRED : 0) |
      (isTruncated || alwaysTruncated ? TRUNCATED_RESPONSE : 0) |
      (reply.rcode & HEADER_RCODE),
    questions: [question],
    answers,
    authorities,
    additionals: [...additionals, ...options],
  });
  // The question is copied, because its type and class may have no name to encode.
  questionBytes.copy(message, HEADER_BYTES);
  return message;
}

/** Mask of the low bits of a response code, which the header contains. The EDNS record contains the high bits. */
const HEADER_RCODE = 0xf;
const HEADER_RCODE_BITS = 4;

const encodedLength = (records: Answer[]): number => encodingLength({ answers: records }) - HEADER_BYTES;

/** Selects the records that fit: answers first, then additional ones. Only an omitted answer counts as truncation. */
function fitRecords({ answers: records }: Reply, bytesMax: number) {
  const answers: Answer[] = [];
  const additionals: Answer[] = [];
  const additionalByName = new Map<string, Answer>();
  let left = bytesMax;
  let isTruncated = false;
  for (const { record, additional } of records) {
    const length = encodedLength([record]);
    isTruncated = length > left;
    if (isTruncated) break;
    left -= length;
    answers.push(record);
    if (additional !== undefined) additionalByName.set(additional.name, additional);
  }
  for (const additional of additionalByName.values()) {
    const length = encodedLength([additional]);
    if (length > left) break;
    left -= length;
    additionals.push(additional);
  }
  return { answers, additionals, isTruncated };
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
