/** Ways in which an accepting peer can answer a call: with a refusal, with anything, with nothing. */
import type { ServerHttp2Stream } from 'node:http2';
import { create, toBinary } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import type { Code } from '@connectrpc/connect';
import { LeaderAddressSchema } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { type Answering, endWith, greet } from './raw-acceptor.ts';
import { framed, type Said, said } from './raw-peer.ts';

/** Answers with a status of gRPC, and perhaps with a word of who serves streams. */
export function refuseWith(code: Code, message: string, leader?: string): Answering {
  return (stream) => {
    const trailers = { 'grpc-status': String(code), 'grpc-message': encodeURIComponent(message) };
    endWith(
      stream,
      leader === undefined ? trailers : { ...trailers, 'grpc-status-details-bin': details(code, leader) },
    );
  };
}

/** `google.rpc.Status` with a LeaderAddress in it. */
function details(code: Code, address: string): string {
  const typeUrl = `type.googleapis.com/${LeaderAddressSchema.typeName}`;
  const value = toBinary(LeaderAddressSchema, create(LeaderAddressSchema, { address }));
  const any = toBinary(AnySchema, create(AnySchema, { typeUrl, value }));
  return Buffer.concat([Buffer.from([8, code, 0x1a, any.length]), any]).toString('base64');
}

/** Accepts, and says these things. */
export const saying =
  (...messages: readonly (Said | Uint8Array)[]): Answering =>
  (stream) => {
    greet(stream);
    for (const message of messages) stream.write(message instanceof Uint8Array ? message : said(message));
  };

/** Gives a secret, and then another one. */
export function twice(stream: ServerHttp2Stream): void {
  greet(stream);
  for (let i = 0; i < 2; i += 1) stream.write(framed(Buffer.from([0x0a, 1, 97])));
  endWith(stream, { 'grpc-status': '0' });
}

/** Gives a part of a message, again and again. */
export function endless(stream: ServerHttp2Stream): void {
  greet(stream);
  const write = (): void => {
    while (stream.writable && stream.write(framed(Buffer.alloc(1_000))));
    if (stream.writable) stream.once('drain', write);
  };
  write();
}

/** Headers that inform, for as long as it is listened to. */
export function informing(stream: ServerHttp2Stream): void {
  const timer = setInterval(() => {
    for (let i = 0; i < 20 && !stream.destroyed; i += 1) stream.additionalHeaders({ ':status': 103, link: '<x>' });
    if (stream.destroyed) clearInterval(timer);
  }, 10);
}

export function web(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'text/html' });
  stream.end('<h1>It works!</h1>');
}

/** Asks for everything again, without end and without reading. */
export function asking(stream: ServerHttp2Stream): void {
  greet(stream);
  stream.pause();
  const ask = said({ request: { ResourceURL: 'type.googleapis.com/no.such.Thing' } });
  const write = (): void => {
    while (stream.writable && stream.write(ask));
    if (stream.writable) stream.once('drain', write);
  };
  write();
}
