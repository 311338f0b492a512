/** Responses of a hostile accepting peer. */
import type { ServerHttp2Stream } from 'node:http2';
import { create, toBinary } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import type { Code } from '@connectrpc/connect';
import { LeaderAddressSchema } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { type CallHandler, endWithTrailers, sendHeaders } from './raw-acceptor.ts';
import { encodeMessage, grpcFrame, type MessageFields } from './raw-peer.ts';

/** Ends a call with a gRPC status. @param leader the address in a `LeaderAddress` detail */
export function sendStatus(code: Code, message: string, leader?: string): CallHandler {
  return (stream) => {
    const trailers = { 'grpc-status': String(code), 'grpc-message': encodeURIComponent(message) };
    endWithTrailers(
      stream,
      leader === undefined ? trailers : { ...trailers, 'grpc-status-details-bin': statusDetails(code, leader) },
    );
  };
}

/** Encodes a `google.rpc.Status` with a `LeaderAddress` detail. */
function statusDetails(code: Code, address: string): string {
  const typeUrl = `type.googleapis.com/${LeaderAddressSchema.typeName}`;
  const value = toBinary(LeaderAddressSchema, create(LeaderAddressSchema, { address }));
  const any = toBinary(AnySchema, create(AnySchema, { typeUrl, value }));
  return Buffer.concat([Buffer.from([8, code, 0x1a, any.length]), any]).toString('base64');
}

/** Accepts the call and sends messages. */
export const sendMessages =
  (...messages: readonly (MessageFields | Uint8Array)[]): CallHandler =>
  (stream) => {
    sendHeaders(stream);
    for (const message of messages) stream.write(message instanceof Uint8Array ? message : encodeMessage(message));
  };

/** Answers an `ExchangeSecret` call with two messages. */
export function sendTwoSecrets(stream: ServerHttp2Stream): void {
  sendHeaders(stream);
  for (let i = 0; i < 2; i += 1) stream.write(grpcFrame(Buffer.from([0x0a, 1, 97])));
  endWithTrailers(stream, { 'grpc-status': '0' });
}

/** Sends frames without end. */
export function sendEndlessly(stream: ServerHttp2Stream): void {
  sendHeaders(stream);
  const write = (): void => {
    while (stream.writable && stream.write(grpcFrame(Buffer.alloc(1_000))));
    if (stream.writable) stream.once('drain', write);
  };
  write();
}

/** Sends informational responses (103) until the stream closes. */
export function sendInformationalHeaders(stream: ServerHttp2Stream): void {
  const timer = setInterval(() => {
    for (let i = 0; i < 20 && !stream.destroyed; i += 1) stream.additionalHeaders({ ':status': 103, link: '<x>' });
    if (stream.destroyed) clearInterval(timer);
  }, 10);
}

export function serveHtml(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'text/html' });
  stream.end('<h1>It works!</h1>');
}

/** Sends requests without end, and reads nothing. */
export function requestEndlessly(stream: ServerHttp2Stream): void {
  sendHeaders(stream);
  stream.pause();
  const request = encodeMessage({ request: { ResourceURL: 'type.googleapis.com/no.such.Thing' } });
  const write = (): void => {
    while (stream.writable && stream.write(request));
    if (stream.writable) stream.once('drain', write);
  };
  write();
}
