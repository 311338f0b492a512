/** A DNS client and a DNS listener for tests. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Answer, type DecodedPacket, decode, encode, type Packet, type RecordType } from 'dns-packet';
import { hashSecret } from '../../../src/credentials/ids-and-secrets.ts';
import { createLog } from '../../../src/http/telemetry/log.ts';
import { type DnsOptions, type RunningDns, startDns } from '../../../src/peering/dns/start-dns.ts';
import { systemClock } from '../../../src/state/clock/clock.ts';
import type { Api } from '../process/api.ts';

/** Upper bound on the time of an answer. */
const ANSWER_MS_MAX = 20_000;

/** The settings of the listener. */
export interface DnsSettings
  extends Partial<Pick<DnsOptions, 'domain' | 'ttlSeconds' | 'random' | 'clock' | 'listen'>> {
  /** The secret ID of the token of all queries, or null for none. Defaults to the first token of the API. */
  readonly token?: string | null;
}

export interface TestDns extends RunningDns {
  /** Returns the log of the listener. */
  log(): string;
}

/** Starts a listener on a free port, with the state of an API in the test's own process. */
export async function startTestDns(api: Api, settings: DnsSettings = {}): Promise<TestDns> {
  const { token = api.token, ...rest } = settings;
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const dns = await startDns({
    credentials: api.peering.credentials,
    listen: { host: '127.0.0.1', port: 0 },
    domain: 'accord',
    ttlSeconds: 0,
    secretHash: token === null ? undefined : hashSecret(token),
    random: Math.random,
    clock: systemClock,
    log: createLog({ level: 'debug', format: 'json', destination }),
    ...rest,
  });
  return Object.assign(dns, { log: () => lines.join('') });
}

export interface QueryOptions {
  readonly over?: 'udp' | 'tcp';
  /** The UDP payload size in the EDNS option. Without it the query has no EDNS. */
  readonly udpPayloadSize?: number;
  /** Further fields of the query. */
  readonly packet?: Packet;
}

/** Encodes a query. */
export const encodeQuery = (name: string, type: string, { udpPayloadSize: takes, packet }: QueryOptions = {}): Buffer =>
  encode({
    type: 'query',
    id: 4711,
    questions: [{ name, type: type as RecordType }],
    ...(takes !== undefined && { additionals: [ednsOption(takes)] }),
    ...packet,
  });

/** Creates the EDNS record of a query. */
export const ednsOption = (udpPayloadSize: number, ednsVersion = 0): Answer => ({
  type: 'OPT',
  name: '.',
  udpPayloadSize,
  extendedRcode: 0,
  ednsVersion,
  flags: 0,
  flag_do: false,
  options: [],
});

/** A decoded answer. */
export interface DnsAnswer {
  readonly rcode: number;
  /** The records, as `name type data`. */
  readonly answers: readonly string[];
  readonly additionals: readonly string[];
  readonly authorities: readonly string[];
  readonly isTruncated: boolean;
  readonly packet: DecodedPacket;
  readonly bytes: number;
}

/** Sends a query and returns the answer. */
export async function query(port: number, name: string, type: string, options: QueryOptions = {}): Promise<DnsAnswer> {
  const message = encodeQuery(name, type, options);
  return decodeAnswer(options.over === 'tcp' ? await exchangeTcp(port, message) : await exchangeUdp(port, message));
}

export function decodeAnswer(bytes: Buffer): DnsAnswer {
  const packet = decode(bytes);
  const { answers = [], authorities = [] } = packet;
  const additionals = (packet.additionals ?? []).filter(({ type }) => type !== 'OPT');
  return {
    rcode: (packet.flags ?? 0) & 0xf,
    answers: answers.map(describeRecord),
    additionals: additionals.map(describeRecord),
    authorities: authorities.map(describeRecord),
    isTruncated: packet.flag_tc,
    packet,
    bytes: bytes.length,
  };
}

function describeRecord(record: Answer): string {
  if (record.type === 'OPT') return 'OPT';
  const { name, type, data } = record;
  if (type === 'SRV') return `${name} SRV ${data.priority} ${data.weight} ${data.port} ${data.target}`;
  if (type === 'SOA') return `${name} SOA ${data.mname} ${data.rname}`;
  return `${name} ${type} ${typeof data === 'string' ? data : JSON.stringify(data)}`;
}

/** Sends messages from one UDP port. Returns the first answer. */
export async function exchangeUdp(port: number, ...messages: readonly Buffer[]): Promise<Buffer> {
  const socket = createSocket('udp4');
  try {
    const answered = once(socket, 'message', { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    for (const message of messages) socket.send(message, port, '127.0.0.1');
    const [answer] = (await answered) as [Buffer];
    return answer;
  } finally {
    socket.close();
  }
}

/** Prefixes a message with its length, as TCP requires. */
export function lengthPrefixed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

async function exchangeTcp(port: number, message: Buffer): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(lengthPrefixed(message));
    const [answer] = await readAnswers(socket, 1);
    if (answer === undefined) throw new Error('the connection ended without an answer');
    return answer;
  } finally {
    socket.destroy();
  }
}

/** Reads the next `count` answers of a connection, or fewer when it ends. */
export async function readAnswers(socket: Socket, count: number): Promise<Buffer[]> {
  const answers: Buffer[] = [];
  let unread: Buffer = Buffer.alloc(0);
  const stream = socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of stream) {
    unread = Buffer.concat([unread, chunk]);
    while (unread.length >= 2 && unread.length >= 2 + unread.readUInt16BE(0)) {
      const end = 2 + unread.readUInt16BE(0);
      answers.push(unread.subarray(2, end));
      unread = unread.subarray(end);
    }
    if (answers.length >= count) break;
  }
  return answers;
}
