/**
 * A connection to a server of another cluster: TLS that trusts that cluster's roots alone and asks for its server name,
 * HTTP/2, gRPC. The dialing side's end of it; what goes over it is decided elsewhere.
 */
import { create } from '@bufbuild/protobuf';
import { type CallOptions, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { MESSAGE_BYTES_MAX, SECRET_CHARACTERS_MAX } from '../../limits.ts';
import {
  ExchangeSecretRequestSchema,
  PeerStreamService,
  type ReplicationMessage,
} from '../wire/gen/peering/peerstream_pb.ts';
import { ACCORD_VERSION_HEADER } from '../wire/headers.ts';
import { BINARY_OPTIONS } from '../wire/messages.ts';

/** Whom to connect to, and how to know that it is them. */
export interface PeerTarget {
  /** `host:port` */
  readonly address: string;
  /** What its certificate must name. */
  readonly serverName: string;
  /** PEM certificates that may have signed it. */
  readonly roots: readonly string[];
}

/** Calls reject with a ConnectError. */
export interface PeerConnection {
  /** What the other side says its version is, once it has answered something; undefined: nothing, so it is no Accord. */
  readonly version: string | undefined;
  /** Spends an establishment secret. @returns a stream secret */
  exchange(peerId: string, establishmentSecret: string, signal: AbortSignal): Promise<string>;
  /** Opens the stream; the first message of `outgoing` is Open. */
  stream(outgoing: AsyncIterable<ReplicationMessage>, signal: AbortSignal): AsyncIterable<ReplicationMessage>;
  /** Ends it with every call on it. */
  close(): void;
}

/** Makes a connection, which opens when it is first used. */
export type ConnectPeer = (target: PeerTarget) => PeerConnection;

/** Real connections; `version` is what we say that ours is. */
export function peerConnections(version: string): ConnectPeer {
  return ({ address, serverName, roots }) => {
    const baseUrl = `https://${address}`;
    const session = new Http2SessionManager(
      baseUrl,
      {},
      { ca: [...roots], servername: serverName, settings: { enablePush: false } },
    );
    const transport = createGrpcTransport({
      baseUrl,
      sessionManager: session,
      acceptCompression: [],
      readMaxBytes: MESSAGE_BYTES_MAX,
      writeMaxBytes: MESSAGE_BYTES_MAX,
      binaryOptions: BINARY_OPTIONS,
    });
    const client = createClient(PeerStreamService, transport);
    let theirs: string | undefined;
    const options = (signal: AbortSignal): CallOptions => ({
      signal,
      headers: { [ACCORD_VERSION_HEADER]: version },
      onHeader(headers) {
        theirs = headers.get(ACCORD_VERSION_HEADER) ?? undefined;
      },
    });
    return {
      get version() {
        return theirs;
      },
      async exchange(peerId, establishmentSecret, signal) {
        const request = create(ExchangeSecretRequestSchema, {
          PeerID: peerId,
          EstablishmentSecret: establishmentSecret,
        });
        const { StreamSecret } = await client.exchangeSecret(request, options(signal));
        // It is kept, and presented with every stream: what the other side would not take back is none.
        if (StreamSecret === '' || StreamSecret.length > SECRET_CHARACTERS_MAX) {
          throw new ConnectError(`it gave a stream secret of ${StreamSecret.length} characters`, Code.DataLoss);
        }
        return StreamSecret;
      },
      stream: (outgoing, signal) => client.streamResources(outgoing, options(signal)),
      close: () => session.abort(),
    };
  };
}
