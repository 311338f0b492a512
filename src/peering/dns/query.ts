/** A message as a question, judged before a byte of it is trusted: who sends it need not be a resolver. */
import { type Answer, DNSSEC_OK, decode, encode, type Question } from 'dns-packet';
import { ADDITIONALS_MAX } from './limits.ts';
import { type Rcode, rcodes } from './rcodes.ts';

export interface Query {
  readonly id: number;
  /** Goes back as it came. */
  readonly recursionDesired: boolean;
  readonly question: Question;
  /** The question as it came, byte for byte: it goes back in the same case. */
  readonly questionBytes: Buffer;
  readonly edns: Edns | undefined;
}

export interface Edns {
  /** Bytes that the sender takes over UDP. */
  readonly payloadSize: number;
  readonly version: number;
  /** Goes back as it came (RFC 3225); there are no signatures here. */
  readonly flags: number;
}

/** What a message is. */
export type ReadMessage =
  | { readonly kind: 'query'; readonly query: Query }
  /** To be answered with this and nothing else. */
  | { readonly kind: 'refused'; readonly rcode: Rcode }
  /** Not to be answered: too short to be, or an answer itself, which two servers could send each other for ever. */
  | { readonly kind: 'ignored' };

/** Bytes of a header. */
export const HEADER_BYTES = 12;

const RESPONSE = 1 << 15;
const OPCODE = 0xf << 11;
export const RECURSION_DESIRED = 1 << 8;

/** The flags of an answer without content: of the question it keeps what RFC 1035 says it must. */
export const answerFlags = (message: Buffer): number =>
  RESPONSE | (message.readUInt16BE(2) & (OPCODE | RECURSION_DESIRED));

/** Reads a message; never throws. */
export function readMessage(message: Buffer): ReadMessage {
  if (message.length < HEADER_BYTES) return { kind: 'ignored' };
  const flags = message.readUInt16BE(2);
  if ((flags & RESPONSE) !== 0) return { kind: 'ignored' };
  if ((flags & OPCODE) !== 0) return { kind: 'refused', rcode: rcodes.NOTIMP };
  const query = hasOneQuestion(message) ? decodeQuery(message, flags) : undefined;
  return query === undefined ? { kind: 'refused', rcode: rcodes.FORMERR } : { kind: 'query', query };
}

/** Asked of the header, so that a message of thousands of records is not decoded. */
function hasOneQuestion(message: Buffer): boolean {
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at));
  return questions === 1 && answers === 0 && authorities === 0 && (additionals ?? 0) <= ADDITIONALS_MAX;
}

function decodeQuery(message: Buffer, flags: number): Query | undefined {
  try {
    const { id = 0, questions: [question] = [], additionals = [] } = decode(message);
    const options = additionals.filter((record) => record.type === 'OPT');
    if (question === undefined || options.length > 1) return undefined;
    const questionBytes = bytesOfQuestion(message, question);
    const edns = readEdns(options[0]);
    if (questionBytes === undefined || edns === 'wrong') return undefined;
    return { id, recursionDesired: (flags & RECURSION_DESIRED) !== 0, question, questionBytes, edns };
  } catch {
    return undefined;
  }
}

/** Bytes of type and class, after the name. */
const TYPE_AND_CLASS_BYTES = 4;

/** Undefined for a name that does not read as what it is: with dots in its labels, or bytes that are no text. */
function bytesOfQuestion(message: Buffer, { name }: Question): Buffer | undefined {
  const encoded = encode({ questions: [{ name, type: 'A' }] }).subarray(HEADER_BYTES);
  const bytes = message.subarray(HEADER_BYTES, HEADER_BYTES + encoded.length);
  const nameLength = encoded.length - TYPE_AND_CLASS_BYTES;
  return bytes.subarray(0, nameLength).equals(encoded.subarray(0, nameLength)) ? bytes : undefined;
}

function readEdns(option: Answer | undefined): Edns | undefined | 'wrong' {
  if (option?.type !== 'OPT') return undefined;
  const { name, udpPayloadSize: payloadSize, ednsVersion: version, flags } = option;
  return name === '.' ? { payloadSize, version, flags: flags & DNSSEC_OK } : 'wrong';
}
