/** The dialing side's gRPC connection over TLS. It trusts only the CA roots of the peering ([STREAM-6]). */
import { create } from '@bufbuild/protobuf';
import { type CallOptions, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { MESSAGE_BYTES_MAX, SECRET_CHARACTERS_MAX } from '../../limits.ts';
import type { ConnectPeer } from '../stream-dependencies.ts';
import { ExchangeSecretRequestSchema, PeerStreamService } from '../wire/gen/peering/peerstream_pb.ts';
import { ACCORD_VERSION_HEADER } from '../wire/headers.ts';
import { BINARY_OPTIONS } from '../wire/messages.ts';

/** Returns a function that opens network connections. @param version this server's version, for `accord-version` */
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
    let peerVersion: string | undefined;
    const options = (signal: AbortSignal): CallOptions => ({
      signal,
      headers: { [ACCORD_VERSION_HEADER]: version },
      onHeader(headers) {
        peerVersion = headers.get(ACCORD_VERSION_HEADER) ?? undefined;
      },
    });
    return {
      get version() {
        return peerVersion;
      },
      async exchange(peerId, establishmentSecret, signal) {
        const request = create(ExchangeSecretRequestSchema, {
          PeerID: peerId,
          EstablishmentSecret: establishmentSecret,
        });
        const { StreamSecret } = await client.exchangeSecret(request, options(signal));
        // Rejects a secret that cannot be presented again with every stream ([STREAM-23]).
        if (StreamSecret === '' || StreamSecret.length > SECRET_CHARACTERS_MAX) {
          throw new ConnectError(`it sent a stream secret of ${StreamSecret.length} characters`, Code.DataLoss);
        }
        return StreamSecret;
      },
      stream: (outgoing, signal) => client.streamResources(outgoing, options(signal)),
      close: () => session.abort(),
    };
  };
}
