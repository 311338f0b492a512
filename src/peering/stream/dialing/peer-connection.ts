/** The dialing side's gRPC connection over TLS. It trusts only the CA roots of the peering ([STREAM-6]). */
import { create } from '@bufbuild/protobuf';
import { type CallOptions, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { MESSAGE_BYTES_MAX, SECRET_CHARACTERS_MAX } from '../../limits.ts';
import { splitAddress } from '../../record/server-address.ts';
import type { ConnectPeer } from '../stream-dependencies.ts';
import { ExchangeSecretRequestSchema, PeerStreamService } from '../wire/gen/peering/peerstream_pb.ts';
import { ACCORD_VERSION_HEADER } from '../wire/headers.ts';
import { BINARY_OPTIONS } from '../wire/messages.ts';
import { DeniedAddressError, type DeniedNetworks, guardedLookup } from './denied-networks.ts';

/**
 * Returns a function that opens network connections.
 * @param version this server's version, for `accord-version`
 * @param denied the networks that are never dialed
 */
export function peerConnections(version: string, denied: DeniedNetworks): ConnectPeer {
  const resolve = guardedLookup(denied);
  return ({ address, serverName, roots }) => {
    const { host } = splitAddress(address);
    const baseUrl = `https://${address}`;
    const session = new Http2SessionManager(
      baseUrl,
      {},
      { ca: [...roots], servername: serverName, settings: { enablePush: false }, lookup: resolve },
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
        rejectDenied(denied, host);
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
      async *stream(outgoing, signal) {
        rejectDenied(denied, host);
        yield* client.streamResources(outgoing, options(signal));
      },
      close: () => session.abort(),
    };
  };
}

/** Rejects an IP address, for which no lookup runs. @throws ConnectError */
function rejectDenied(denied: DeniedNetworks, host: string): void {
  if (!denied.includes(host)) return;
  const error = new DeniedAddressError(host);
  throw new ConnectError(error.message, Code.Unavailable, undefined, undefined, error);
}
