/** A dialing peer that can send any bytes over TCP, TLS, HTTP/2 or gRPC. It does not use the code under test. */
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
import { tokenContent } from './peering-requests.ts';

const SERVICE = '/hashicorp.consul.internal.peerstream.PeerStreamService';
export const STREAM_PATH = `${SERVICE}/StreamResources`;
export const EXCHANGE_PATH = `${SERVICE}/ExchangeSecret`;

/** Adds the gRPC frame prefix to a message. `flags` and `length` can be wrong on purpose. */
export function grpcFrame(content: Uint8Array, { flags = 0, length = content.length } = {}): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, content]);
}

type Payload = ReplicationMessage['Payload'];
/** A message of the stream as an object: its kind and the fields without default values. */
export type MessageFields = { readonly [C in NonNullable<Payload['case']>]?: Readonly<Record<string, unknown>> };

/** Encodes and frames a message of the stream. */
export function encodeMessage(message: MessageFields): Buffer {
  const [kind, value] = Object.entries(message)[0] ?? [];
  const Payload = { case: kind, value } as unknown as Payload;
  return grpcFrame(toBinary(ReplicationMessageSchema, create(ReplicationMessageSchema, { Payload })));
}

/** How a call ended. */
export interface Outcome {
  /** The HTTP status, or undefined without a response. */
  readonly http: number | undefined;
  /** The gRPC status, or undefined when none was received. */
  readonly code: number | undefined;
  readonly message: string;
  /** The HTTP/2 error code of a reset, or 0. */
  readonly reset: number;
}

/** A call in progress. */
export interface RawCall {
  readonly stream: ClientHttp2Stream;
  /** The messages received so far by a call of `StreamResources`. */
  readonly received: ReplicationMessage[];
  /** The body received so far, with frame prefixes. */
  readonly bytes: Buffer[];
  send(...messages: readonly MessageFields[]): void;
  write(bytes: Uint8Array): void;
  /** Resolves when the other side has ended its half or the stream has closed. */
  readonly responseEnded: Promise<Outcome>;
  /** Resolves when the stream has closed. */
  readonly closed: Promise<Outcome>;
}

export interface CallOptions {
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Whether the caller never reads the response. */
  readonly neverReads?: boolean;
  /** Whether the caller keeps its half open after the other side has ended the call. */
  readonly neverEnds?: boolean;
}

export interface RawDialer extends Disposable {
  readonly session: ClientHttp2Session;
  /** Resolves when the connection has closed. */
  readonly closed: Promise<void>;
  call(options?: CallOptions): RawCall;
  exchange(peerId: string, secret: string): Promise<Outcome & { readonly secret: string }>;
}

/** Connects without verifying the certificate. @throws Error when the connection fails */
export async function dialRaw(address: string, options: http2.SecureClientSessionOptions = {}): Promise<RawDialer> {
  const session = http2.connect(`https://${address}`, { rejectUnauthorized: false, ...options });
  const closed = new Promise<void>((resolve) => void session.once('close', () => resolve()));
  await once(session, 'connect');
  // Tests expect the server to cut connections and observe it through `closed`.
  session.on('error', () => undefined);
  const call = (callOptions: CallOptions = {}): RawCall => startCall(session, callOptions);
  return {
    session,
    closed,
    call,
    async exchange(PeerID, EstablishmentSecret) {
      const request = create(ExchangeSecretRequestSchema, { PeerID, EstablishmentSecret });
      const { stream, closed: ended, bytes } = call({ path: EXCHANGE_PATH });
      stream.end(grpcFrame(toBinary(ExchangeSecretRequestSchema, request)));
      const outcome = await ended;
      const { StreamSecret: secret } = fromBinary(ExchangeSecretResponseSchema, Buffer.concat(bytes).subarray(5));
      return { ...outcome, secret };
    },
    [Symbol.dispose]: () => session.destroy(),
  };
}

function startCall(
  session: ClientHttp2Session,
  { path = STREAM_PATH, headers, neverReads: deaf = false, neverEnds: lingering = false }: CallOptions,
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
  const readStatus = (answer: http2.IncomingHttpHeaders): void => {
    if (answer['grpc-status'] !== undefined) outcome.code = Number(answer['grpc-status']);
    if (answer['grpc-message'] !== undefined) outcome.message = decodeURIComponent(String(answer['grpc-message']));
  };
  stream.on('response', (answer) => {
    outcome.http = answer[':status'];
    readStatus(answer);
  });
  stream.on('trailers', readStatus);
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
    responseEnded: answered,
    closed: ended,
    send: (...messages) => write(Buffer.concat(messages.map(encodeMessage))),
  };
}

/** Returns a function that takes chunks of a body and passes every complete message to `take`. */
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

/** Exchanges the secret of a token. @returns the fields of `Open` */
export async function exchangeToken(
  address: string,
  token: string,
): Promise<{ PeerID: string; StreamSecretID: string }> {
  const { PeerID, EstablishmentSecret } = tokenContent(token);
  using dialer = await dialRaw(address);
  return { PeerID, StreamSecretID: (await dialer.exchange(PeerID, EstablishmentSecret)).secret };
}

/** Opens a TLS connection that has negotiated HTTP/2 and sent nothing yet. */
export async function openTls(address: string): Promise<TLSSocket> {
  const [host, port] = address.split(':');
  const socket = connectTls({ host, port: Number(port), ALPNProtocols: ['h2'], rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  socket.on('error', () => undefined);
  return socket;
}

/** The connection preface of HTTP/2 clients. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Frame types of HTTP/2. */
export const FRAME_TYPE = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Creates an HTTP/2 frame. */
export function http2Frame(type: number, streamId: number, payload: Uint8Array = Buffer.alloc(0), flags = 0): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}
