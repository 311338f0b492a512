/**
 * Connections that have shown no secret yet. Anybody can open them, so their number is bounded; when there are too many,
 * one of whoever holds most makes room. A flood from one address so displaces itself, and a peer that comes back gets in.
 */
import type { Socket } from 'node:net';
import { UNPROVEN_CONNECTIONS_MAX } from '../../limits.ts';

export interface UnprovenConnections {
  readonly size: number;
  /** Connections that were closed because there were too many. */
  readonly displacedCount: number;
  /** Holds a connection until it closes or is proven; closes another one if there are too many. */
  add(socket: Socket): void;
  /** Who is behind the connection, whichever layer of it is given, has shown a secret. */
  prove(socket: Endpoint): void;
  /** Closes all. */
  destroy(): void;
}

/** By what a connection is known on every layer. */
export type Endpoint = Pick<Socket, 'remoteAddress' | 'remotePort'>;

/** None yet. */
export function createUnprovenConnections(): UnprovenConnections {
  /** By address, then by port; the oldest first. */
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
    // It goes from the list now, not when its end is told: the bound holds at every moment.
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
        // It was gone before it was taken.
        socket.destroy();
        return;
      }
      socket.once('close', () => forget(address, port, socket));
      if (size >= UNPROVEN_CONNECTIONS_MAX) displaceOne();
      const ofAddress = held.get(address) ?? new Map<number, Socket>();
      held.set(address, ofAddress.set(port, socket));
      size += 1;
    },
    prove({ remoteAddress: address = '', remotePort: port = 0 }) {
      forget(address, port);
    },
    destroy() {
      for (const ofAddress of held.values()) for (const socket of ofAddress.values()) socket.destroy();
    },
  };
}
