/** What the spans of the peering service say: which peering, and which call of the peer stream's protocol. */

import { Code } from '@connectrpc/connect';
import { type Attributes, type Span, SpanKind } from '@opentelemetry/api';
import { failSpan, type SpanStart } from '../http/telemetry/tracing.ts';
import type { Reader } from '../state/memory/reader.ts';
import { peerings } from './record/record.ts';
import { PeerStreamService } from './stream/wire/gen/peering/peerstream_pb.ts';

/** What people know a peering by. */
export interface PeeringName {
  readonly name: string;
  readonly partition: string;
}

/** Undefined: there is no such peering, or not any more. */
export const peeringNamed = (reader: Reader, peeringId: string): PeeringName | undefined =>
  reader.get(peerings, peeringId)?.row;

/** @param peering undefined: it is not known which; its partition is empty where that is not known */
const peeringAttributes = (peering: PeeringName | undefined): Attributes => ({
  ...(peering !== undefined && { 'accord.peering.name': peering.name }),
  ...(peering !== undefined && peering.partition !== '' && { 'accord.peering.partition': peering.partition }),
});

/** A span of the background, which begins a trace of its own. */
export const peeringSpan = (name: string, peering: PeeringName | undefined): SpanStart => ({
  name,
  kind: SpanKind.INTERNAL,
  root: true,
  attributes: peeringAttributes(peering),
});

/** By the semantic conventions of OpenTelemetry for RPC. */
const rpc = (method: keyof typeof PeerStreamService.method, attributes: Attributes): Omit<SpanStart, 'kind'> => {
  const called = `${PeerStreamService.typeName}/${PeerStreamService.method[method].name}`;
  return { name: called, attributes: { 'rpc.system.name': 'grpc', 'rpc.method': called, ...attributes } };
};

/** One attempt to call a server of a peer. */
export const dialSpan = (
  method: keyof typeof PeerStreamService.method,
  peering: PeeringName | undefined,
  address: string,
): SpanStart => {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replaceAll(/[[\]]/g, '');
  const server = { 'server.address': host, 'server.port': Number(address.slice(colon + 1)) };
  return { ...rpc(method, { ...server, ...peeringAttributes(peering) }), kind: SpanKind.CLIENT };
};

/** One call of a peer. */
export const servedSpan = (
  method: keyof typeof PeerStreamService.method,
  peering: PeeringName | undefined,
  address: string,
): SpanStart => {
  const attributes = { 'client.address': address, ...peeringAttributes(peering) };
  return { ...rpc(method, attributes), kind: SpanKind.SERVER, root: true };
};

/** Statuses that are the server's fault; the others are the caller's, and no error of the span of who serves it. */
const SERVER_FAULTS = new Set<Code>([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

/** A call that was served has ended with a status. */
export function statusOfServed(span: Span, code: Code, message: string): void {
  const name = statusName(code);
  span.setAttribute('rpc.status_code', name);
  if (SERVER_FAULTS.has(code)) failSpan(span, name, message);
}

/** As the conventions write it: `PERMISSION_DENIED`. */
export const statusName = (code: Code): string => Code[code].replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
