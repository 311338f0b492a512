/** Questions over DNS on loopback, as resolvers ask them. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Answer, type DecodedPacket, decode, encode, type Packet, type RecordType } from 'dns-packet';
import { hashSecret } from '../../../src/credentials/secret.ts';
import { createLog } from '../../../src/http/telemetry/log.ts';
import { type DnsOptions, type RunningDns, startDns } from '../../../src/peering/dns/start-dns.ts';
import { systemClock } from '../../../src/state/clock/clock.ts';
import type { Api } from '../process/api.ts';

/** Far more than an answer takes. */
const ANSWER_MS_MAX = 20_000;

/** What a test changes of the listener. */
export interface DnsSettings
  extends Partial<Pick<DnsOptions, 'domain' | 'ttlSeconds' | 'random' | 'clock' | 'listen'>> {
  /** The secret ID of the token that questions are answered with; the API's first one unless given, `null` for none. */
  readonly token?: string | null;
}

export interface TestDns extends RunningDns {
  /** What it has logged. */
  log(): string;
}

/** A listener beside an API in the test's own process, on a free port. */
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

export interface AskOptions {
  readonly over?: 'udp' | 'tcp';
  /** Bytes that the asker takes, told in EDNS; without EDNS unless given. */
  readonly takes?: number;
  /** Whatever else is to be in the question. */
  readonly packet?: Packet;
}

/** The message of a question. */
export const question = (name: string, type: string, { takes, packet }: AskOptions = {}): Buffer =>
  encode({
    type: 'query',
    id: 4711,
    questions: [{ name, type: type as RecordType }],
    ...(takes !== undefined && { additionals: [ednsOf(takes)] }),
    ...packet,
  });

/** EDNS as an asker has it. */
export const ednsOf = (udpPayloadSize: number, ednsVersion = 0): Answer => ({
  type: 'OPT',
  name: '.',
  udpPayloadSize,
  extendedRcode: 0,
  ednsVersion,
  flags: 0,
  flag_do: false,
  options: [],
});

/** An answer, with what tests look at. */
export interface Asked {
  readonly rcode: number;
  /** As `name type data`. */
  readonly answers: readonly string[];
  readonly additionals: readonly string[];
  readonly authorities: readonly string[];
  readonly isCut: boolean;
  readonly packet: DecodedPacket;
  readonly bytes: number;
}

/** Asks and waits for the answer. */
export async function ask(port: number, name: string, type: string, options: AskOptions = {}): Promise<Asked> {
  const message = question(name, type, options);
  return read(options.over === 'tcp' ? await exchangeTcp(port, message) : await exchangeUdp(port, message));
}

/** An answer as tests look at it. */
export function read(bytes: Buffer): Asked {
  const packet = decode(bytes);
  const { answers = [], authorities = [] } = packet;
  const additionals = (packet.additionals ?? []).filter(({ type }) => type !== 'OPT');
  return {
    rcode: (packet.flags ?? 0) & 0xf,
    answers: answers.map(shown),
    additionals: additionals.map(shown),
    authorities: authorities.map(shown),
    isCut: packet.flag_tc,
    packet,
    bytes: bytes.length,
  };
}

function shown(record: Answer): string {
  if (record.type === 'OPT') return 'OPT';
  const { name, type, data } = record;
  if (type === 'SRV') return `${name} SRV ${data.priority} ${data.weight} ${data.port} ${data.target}`;
  if (type === 'SOA') return `${name} SOA ${data.mname} ${data.rname}`;
  return `${name} ${type} ${typeof data === 'string' ? data : JSON.stringify(data)}`;
}

/** Sends messages from one UDP port and resolves with the first that comes back. */
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

/** A message after its length. */
export function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

async function exchangeTcp(port: number, message: Buffer): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(framed(message));
    const [answer] = await answersOf(socket, 1);
    if (answer === undefined) throw new Error('the connection ended without an answer');
    return answer;
  } finally {
    socket.destroy();
  }
}

/** The next answers on a connection; fewer when it ends. */
export async function answersOf(socket: Socket, count: number): Promise<Buffer[]> {
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
