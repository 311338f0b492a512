/** The trace spans of the peering service: background work, and calls of the peer stream protocol. */
import { Code } from '@connectrpc/connect';
import { type Attributes, type Span, SpanKind } from '@opentelemetry/api';
import { failSpan, type SpanStart } from '../http/telemetry/tracing.ts';
import type { Reader } from '../state/memory/reader.ts';
import { peerings } from './record/record.ts';
import { PeerStreamService } from './stream/wire/gen/peering/peerstream_pb.ts';

export interface PeeringName {
  readonly name: string;
  readonly partition: string;
}

export const lookupPeeringName = (reader: Reader, peeringId: string): PeeringName | undefined =>
  reader.get(peerings, peeringId)?.row;

/** @param peering `undefined` when unknown. Its partition is empty when unknown. */
const peeringAttributes = (peering: PeeringName | undefined): Attributes => ({
  ...(peering !== undefined && { 'accord.peering.name': peering.name }),
  ...(peering !== undefined && peering.partition !== '' && { 'accord.peering.partition': peering.partition }),
});

/** Returns a span of background work, which is the root of its own trace. */
export const peeringSpan = (name: string, peering: PeeringName | undefined): SpanStart => ({
  name,
  kind: SpanKind.INTERNAL,
  root: true,
  attributes: peeringAttributes(peering),
});

/** Name and attributes of a call, by OpenTelemetry's semantic conventions for RPC. */
const rpc = (method: keyof typeof PeerStreamService.method, attributes: Attributes): Omit<SpanStart, 'kind'> => {
  const called = `${PeerStreamService.typeName}/${PeerStreamService.method[method].name}`;
  return { name: called, attributes: { 'rpc.system.name': 'grpc', 'rpc.method': called, ...attributes } };
};

export const clientSpan = (
  method: keyof typeof PeerStreamService.method,
  peering: PeeringName | undefined,
  address: string,
): SpanStart => {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replaceAll(/[[\]]/g, '');
  const server = { 'server.address': host, 'server.port': Number(address.slice(colon + 1)) };
  return { ...rpc(method, { ...server, ...peeringAttributes(peering) }), kind: SpanKind.CLIENT };
};

export const serverSpan = (
  method: keyof typeof PeerStreamService.method,
  peering: PeeringName | undefined,
  address: string,
): SpanStart => {
  const attributes = { 'client.address': address, ...peeringAttributes(peering) };
  return { ...rpc(method, attributes), kind: SpanKind.SERVER, root: true };
};

/** Statuses that mark a server span as failed. The others are errors of the caller. */
const SERVER_ERROR_CODES = new Set<Code>([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

export function setServerSpanStatus(span: Span, code: Code, message: string): void {
  const name = statusName(code);
  span.setAttribute('rpc.status_code', name);
  if (SERVER_ERROR_CODES.has(code)) failSpan(span, name, message);
}

/** Returns the name of a code in the form of the conventions: `PERMISSION_DENIED`. */
export const statusName = (code: Code): string => Code[code].replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
