/** The limits of open connections and of unfinished TLS handshakes, in total and per address. [SRV-58] */
import type http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { addressKey } from '../../budget/address-key.ts';
import { createBudget } from '../../budget/budget.ts';
import type { Measured } from '../../budget/measured.ts';
import { HANDSHAKES_SHARE } from '../limits.ts';

export interface ConnectionLimits {
  /** `limits.connections`. */
  readonly total: number;
  /** `limits.connections-per-address`. */
  readonly perAddress: number;
}

/** Closes connections past the limits. @returns the budgets, for metrics */
export function limitConnections(
  server: http.Server | https.Server,
  { total, perAddress }: ConnectionLimits,
): readonly Measured[] {
  const connections = createBudget<'address'>('connections', { total, shares: { address: perAddress } });
  server.on('connection', (socket: Socket) => {
    const keys = keysOf(socket);
    if (connections.take({ keys }) === undefined) socket.once('close', () => connections.release({ keys }));
    else socket.destroy();
  });
  if (!(server instanceof https.Server)) return [connections];
  const perAddressMax = Math.max(1, Math.floor(perAddress * HANDSHAKES_SHARE));
  return [connections, limitHandshakes(server, { total, perAddress: perAddressMax })];
}

function limitHandshakes(server: https.Server, { total, perAddress }: ConnectionLimits): Measured {
  const handshakes = createBudget<'address'>('tls-handshakes', { total, shares: { address: perAddress } });
  /** The functions that end a handshake, by the client's end of the connection. */
  const unfinished = new Map<string, () => void>();
  server.on('connection', (socket: Socket) => {
    if (socket.destroyed) return;
    const keys = keysOf(socket);
    if (handshakes.take({ keys }) !== undefined) {
      socket.destroy();
      return;
    }
    const peer = peerOf(socket);
    const end = (): void => {
      if (unfinished.get(peer) !== end) return;
      unfinished.delete(peer);
      handshakes.release({ keys });
    };
    unfinished.set(peer, end);
    socket.once('close', end);
  });
  server.on('secureConnection', (socket) => unfinished.get(peerOf(socket))?.());
  return handshakes;
}

const keysOf = (socket: Socket) => ({ address: addressKey(socket.remoteAddress) });
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
