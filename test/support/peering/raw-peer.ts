/** A dialing peer that keeps to nothing: any bytes over TCP, TLS, HTTP/2 or gRPC, without the code under test. */
import { once } from 'node:events';
import http2, { type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  ExchangeSecretRequestSchema,
  ExchangeSecretResponseSchema,
  type ReplicationMessage,
  ReplicationMessageSchema,
} from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import type { PeeringToken } from '../../../src/peering/token/token.ts';

const SERVICE = '/hashicorp.consul.internal.peerstream.PeerStreamService';
export const STREAM_PATH = `${SERVICE}/StreamResources`;
export const EXCHANGE_PATH = `${SERVICE}/ExchangeSecret`;

/** A message as gRPC frames it; flags and the length that is said may be anything. */
export function framed(content: Uint8Array, { flags = 0, length = content.length } = {}): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, content]);
}

type Payload = ReplicationMessage['Payload'];
/** What a message says, with the defaults left out. */
export type Said = { readonly [C in NonNullable<Payload['case']>]?: Readonly<Record<string, unknown>> };

/** A message of the stream, framed. */
export function said(message: Said): Buffer {
  const [kind, value] = Object.entries(message)[0] ?? [];
  const Payload = { case: kind, value } as unknown as Payload;
  return framed(toBinary(ReplicationMessageSchema, create(ReplicationMessageSchema, { Payload })));
}

/** How a call ended. */
export interface Outcome {
  /** HTTP status; undefined: no answer came. */
  readonly http: number | undefined;
  /** gRPC status; undefined: none came. */
  readonly code: number | undefined;
  readonly message: string;
  /** HTTP/2 error code of a reset; 0 for none. */
  readonly reset: number;
}

/** A call under way. */
export interface RawCall {
  readonly stream: ClientHttp2Stream;
  /** What was received so far, for a call of the stream's method. */
  readonly received: ReplicationMessage[];
  /** Bytes of the body so far, framed. */
  readonly bytes: Buffer[];
  say(...messages: readonly Said[]): void;
  write(bytes: Uint8Array): void;
  /** When the other side has ended its half, or everything. */
  readonly answered: Promise<Outcome>;
  /** When the stream is closed. */
  readonly ended: Promise<Outcome>;
}

export interface CallOptions {
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Never reads what is answered. */
  readonly deaf?: boolean;
  /** Stays after the other side has ended the call, for as long as it is let. */
  readonly lingering?: boolean;
}

export interface RawDialer extends Disposable {
  readonly session: ClientHttp2Session;
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<void>;
  call(options?: CallOptions): RawCall;
  exchange(peerId: string, secret: string): Promise<Outcome & { readonly secret: string }>;
}

/** Connects without looking at certificates. @throws Error when there is no connection to be had */
export async function dialRaw(address: string, options: http2.SecureClientSessionOptions = {}): Promise<RawDialer> {
  const session = http2.connect(`https://${address}`, { rejectUnauthorized: false, ...options });
  const closed = new Promise<void>((resolve) => void session.once('close', () => resolve()));
  await once(session, 'connect');
  // Being cut is what is expected here; `closed` tells.
  session.on('error', () => undefined);
  const call = (callOptions: CallOptions = {}): RawCall => startCall(session, callOptions);
  return {
    session,
    closed,
    call,
    async exchange(PeerID, EstablishmentSecret) {
      const request = create(ExchangeSecretRequestSchema, { PeerID, EstablishmentSecret });
      const { stream, ended, bytes } = call({ path: EXCHANGE_PATH });
      stream.end(framed(toBinary(ExchangeSecretRequestSchema, request)));
      const outcome = await ended;
      const { StreamSecret: secret } = fromBinary(ExchangeSecretResponseSchema, Buffer.concat(bytes).subarray(5));
      return { ...outcome, secret };
    },
    [Symbol.dispose]: () => session.destroy(),
  };
}

function startCall(
  session: ClientHttp2Session,
  { path = STREAM_PATH, headers, deaf = false, lingering = false }: CallOptions,
): RawCall {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  const received: ReplicationMessage[] = [];
  const bytes: Buffer[] = [];
  const outcome = { http: undefined as number | undefined, code: undefined as number | undefined, message: '' };
  const look = (answer: http2.IncomingHttpHeaders): void => {
    if (answer['grpc-status'] !== undefined) outcome.code = Number(answer['grpc-status']);
    if (answer['grpc-message'] !== undefined) outcome.message = decodeURIComponent(String(answer['grpc-message']));
  };
  stream.on('response', (answer) => {
    outcome.http = answer[':status'];
    look(answer);
  });
  stream.on('trailers', look);
  stream.on('error', () => undefined);
  if (!lingering) stream.on('end', () => stream.end());
  if (deaf) stream.pause();
  else {
    const read = path === STREAM_PATH ? messageReader((message) => received.push(message)) : () => undefined;
    stream.on('data', (chunk: Buffer) => {
      bytes.push(chunk);
      read(chunk);
    });
  }
  const when = (event: 'end' | 'close'): Promise<Outcome> =>
    new Promise((resolve) => void stream.once(event, () => resolve({ ...outcome, reset: stream.rstCode ?? 0 })));
  const ended = when('close');
  const answered = Promise.race([when('end'), ended]);
  const write = (chunk: Uint8Array): void => void (stream.writable && stream.write(chunk));
  return {
    stream,
    received,
    bytes,
    write,
    answered,
    ended,
    say: (...messages) => write(Buffer.concat(messages.map(said))),
  };
}

/** Takes a body apart into the stream's messages. */
export function messageReader(take: (message: ReplicationMessage) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1);
      take(fromBinary(ReplicationMessageSchema, rest.subarray(5, end)));
      rest = rest.subarray(end);
    }
  };
}

/** What stands in a peering token. */
export const readToken = (token: string): PeeringToken => JSON.parse(Buffer.from(token, 'base64').toString());

/** Exchanges a token as a peer does. @returns what a stream is opened with */
export async function takeSecret(address: string, token: string): Promise<{ PeerID: string; StreamSecretID: string }> {
  const { PeerID, EstablishmentSecret } = readToken(token);
  using dialer = await dialRaw(address);
  return { PeerID, StreamSecretID: (await dialer.exchange(PeerID, EstablishmentSecret)).secret };
}

/** A TLS connection that has agreed on HTTP/2 and said nothing yet. */
export async function openTls(address: string): Promise<TLSSocket> {
  const [host, port] = address.split(':');
  const socket = connectTls({ host, port: Number(port), ALPNProtocols: ['h2'], rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  socket.on('error', () => undefined);
  return socket;
}

/** What a client says first in HTTP/2. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Types of frames of HTTP/2. */
export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, windowUpdate: 8, continuation: 9 } as const;

/** A frame of HTTP/2. */
export function h2Frame(type: number, streamId: number, payload: Uint8Array = Buffer.alloc(0), flags = 0): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}
