/**
 * The limit on connections without an authorized stream ([STREAM-33]). At the limit, a new connection closes the oldest
 * one of the address with the most connections. A flood from one address therefore closes its own connections and not
 * those of peers.
 */
import type { Socket } from 'node:net';
import { UNAUTHENTICATED_CONNECTIONS_MAX } from '../../limits.ts';

export interface UnauthenticatedConnections {
  readonly size: number;
  /** Number of connections closed because of the limit. */
  readonly displacedCount: number;
  /** Counts a connection until it closes or is authenticated. Closes another one at the limit. */
  add(socket: Socket): void;
  /** Stops counting the connection of an authenticated peer. */
  markAuthenticated(socket: RemoteEndpoint): void;
  destroy(): void;
}

/** The address and port of a client. They identify the TCP, TLS and HTTP/2 objects of one connection. */
export type RemoteEndpoint = Pick<Socket, 'remoteAddress' | 'remotePort'>;

export function createUnauthenticatedConnections(): UnauthenticatedConnections {
  /** Sockets by address and port, the oldest first. */
  const held = new Map<string, Map<number, Socket>>();
  let size = 0;
  let displacedCount = 0;

  const forget = (address: string, port: number, socket?: Socket): void => {
    const ofAddress = held.get(address);
    const known = ofAddress?.get(port);
    if (ofAddress === undefined || known === undefined || (socket !== undefined && known !== socket)) return;
    ofAddress.delete(port);
    size -= 1;
    if (ofAddress.size === 0) held.delete(address);
  };

  const displaceOne = (): void => {
    let most: readonly [address: string, connections: Map<number, Socket>] | undefined;
    for (const entry of held) if (entry[1].size > (most?.[1].size ?? 0)) most = entry;
    const [oldest] = most?.[1] ?? [];
    if (most === undefined || oldest === undefined) return;
    displacedCount += 1;
    // Removes it now and not on its `close` event, so that the limit is never exceeded.
    forget(most[0], oldest[0]);
    oldest[1].destroy();
  };

  return {
    get size() {
      return size;
    },
    get displacedCount() {
      return displacedCount;
    },
    add(socket) {
      const { remoteAddress: address, remotePort: port } = socket;
      if (address === undefined || port === undefined) {
        // The client disconnected before the connection was accepted.
        socket.destroy();
        return;
      }
      socket.once('close', () => forget(address, port, socket));
      if (size >= UNAUTHENTICATED_CONNECTIONS_MAX) displaceOne();
      const ofAddress = held.get(address) ?? new Map<number, Socket>();
      held.set(address, ofAddress.set(port, socket));
      size += 1;
    },
    markAuthenticated({ remoteAddress: address = '', remotePort: port = 0 }) {
      forget(address, port);
    },
    destroy() {
      for (const ofAddress of held.values()) for (const socket of ofAddress.values()) socket.destroy();
    },
  };
}
