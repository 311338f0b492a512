/** Parsing of DNS messages, which are untrusted input. */
import { type Answer, DNSSEC_OK, decode, encode, type Question } from 'dns-packet';
import { ADDITIONALS_MAX } from './limits.ts';
import { type Rcode, rcodes } from './rcodes.ts';

export interface Query {
  readonly id: number;
  /** Copied to the response. */
  readonly recursionDesired: boolean;
  readonly question: Question;
  /** The question as received. The response repeats these bytes, which preserves the case. */
  readonly questionBytes: Buffer;
  readonly edns: Edns | undefined;
}

export interface Edns {
  /** Bytes that the client accepts over UDP. */
  readonly payloadSize: number;
  readonly version: number;
  /** Copied to the response (RFC 3225). Responses are not signed. */
  readonly flags: number;
}

export type ParsedMessage =
  | { readonly kind: 'query'; readonly query: Query }
  /** A message answered with a code and no records. */
  | { readonly kind: 'refused'; readonly rcode: Rcode }
  /** A message without an answer: too short, or itself a response, which would cause a loop between two servers. */
  | { readonly kind: 'ignored' };

export const HEADER_BYTES = 12;

const RESPONSE = 1 << 15;
const OPCODE = 0xf << 11;
export const RECURSION_DESIRED = 1 << 8;

/** Returns the flags of a response, with those of the question that RFC 1035 requires. */
export const answerFlags = (message: Buffer): number =>
  RESPONSE | (message.readUInt16BE(2) & (OPCODE | RECURSION_DESIRED));

/** Parses a message. Never throws. */
export function parseMessage(message: Buffer): ParsedMessage {
  if (message.length < HEADER_BYTES) return { kind: 'ignored' };
  const flags = message.readUInt16BE(2);
  if ((flags & RESPONSE) !== 0) return { kind: 'ignored' };
  if ((flags & OPCODE) !== 0) return { kind: 'refused', rcode: rcodes.NOTIMP };
  const query = hasOneQuestion(message) ? decodeQuery(message, flags) : undefined;
  return query === undefined ? { kind: 'refused', rcode: rcodes.FORMERR } : { kind: 'query', query };
}

/** Reads the counts in the header, so that a message with thousands of records is not decoded. */
function hasOneQuestion(message: Buffer): boolean {
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at));
  return questions === 1 && answers === 0 && authorities === 0 && (additionals ?? 0) <= ADDITIONALS_MAX;
}

function decodeQuery(message: Buffer, flags: number): Query | undefined {
  try {
    const { id = 0, questions: [question] = [], additionals = [] } = decode(message);
    const options = additionals.filter((record) => record.type === 'OPT');
    if (question === undefined || options.length > 1) return undefined;
    const questionBytes = questionBytesOf(message, question);
    const edns = parseEdns(options[0]);
    if (questionBytes === undefined || edns === 'wrong') return undefined;
    return { id, recursionDesired: (flags & RECURSION_DESIRED) !== 0, question, questionBytes, edns };
  } catch {
    return undefined;
  }
}

/** Type and class follow the name. */
const TYPE_AND_CLASS_BYTES = 4;

/** Returns `undefined` when the decoded name is ambiguous: dots inside labels, or bytes that are not text. */
function questionBytesOf(message: Buffer, { name }: Question): Buffer | undefined {
  const encoded = encode({ questions: [{ name, type: 'A' }] }).subarray(HEADER_BYTES);
  const bytes = message.subarray(HEADER_BYTES, HEADER_BYTES + encoded.length);
  const nameLength = encoded.length - TYPE_AND_CLASS_BYTES;
  return bytes.subarray(0, nameLength).equals(encoded.subarray(0, nameLength)) ? bytes : undefined;
}

function parseEdns(option: Answer | undefined): Edns | undefined | 'wrong' {
  if (option?.type !== 'OPT') return undefined;
  const { name, udpPayloadSize: payloadSize, ednsVersion: version, flags } = option;
  return name === '.' ? { payloadSize, version, flags: flags & DNSSEC_OK } : 'wrong';
}
