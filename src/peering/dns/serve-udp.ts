/** DNS over UDP. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { isIPv6 } from 'node:net';
import { UDP_UNSENT_BYTES_MAX } from './limits.ts';
import type { RateLimitedLog } from './rate-limited-log.ts';
import type { Responder } from './respond.ts';

export interface UdpService extends AsyncDisposable {
  readonly address: AddressInfo;
}

export interface ListenAddress {
  /** An IP address. */
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
}

/** Starts the UDP listener. @throws a system error, such as EADDRINUSE */
export async function serveUdp(
  { host, port }: ListenAddress,
  { respond }: Responder,
  log: RateLimitedLog,
): Promise<UdpService> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  socket.bind(port, host);
  try {
    await once(socket, 'listening');
  } catch (error) {
    socket.close();
    throw error;
  }
  let isClosed = false;
  socket.once('close', () => {
    isClosed = true;
  });
  socket.on('error', (error) => log.warn(error, 'DNS UDP socket failed'));
  socket.on('message', (message, { address, port: from }) => {
    if (from === 0 || socket.getSendQueueSize() > UDP_UNSENT_BYTES_MAX) return;
    const send = (answer: Buffer | undefined): void => {
      // Send errors are ignored, because clients retry.
      if (answer !== undefined && !isClosed) socket.send(answer, from, address, () => undefined);
    };
    const answer = respond(message, 'udp', address);
    if (answer instanceof Promise) void answer.then(send);
    else send(answer);
  });
  return {
    address: socket.address(),
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}
