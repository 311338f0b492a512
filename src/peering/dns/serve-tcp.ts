/**
 * DNS over TCP. Messages have a length prefix. A client may send several questions without waiting, and gets the
 * answers in order. The server stops reading from a client that does not receive its answers.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { addressKey } from '../../budget/address-key.ts';
import { type Budget, createBudget } from '../../budget/budget.ts';
import type { Clock } from '../../state/clock/clock.ts';
import {
  QUERY_BYTES_MAX,
  TCP_CLOSE_TIMEOUT_MS,
  TCP_CONNECTIONS_MAX,
  TCP_CONNECTIONS_PER_ADDRESS_MAX,
  TCP_IDLE_MS,
  TCP_QUESTIONS_PER_TURN,
} from './limits.ts';
import type { RateLimitedLog } from './rate-limited-log.ts';
import { isLoopback, type Responder } from './respond.ts';
import type { ListenAddress } from './serve-udp.ts';

export interface TcpService extends AsyncDisposable {
  readonly address: AddressInfo;
  readonly connectionCount: number;
  readonly connections: Budget<'address'>;
}

export interface TcpDependencies {
  readonly clock: Clock;
  readonly log: RateLimitedLog;
}

/** Starts the TCP listener. @throws a system error, such as EADDRINUSE */
export async function serveTcp(
  { host, port }: ListenAddress,
  responder: Responder,
  dependencies: TcpDependencies,
): Promise<TcpService> {
  const { clock, log } = dependencies;
  /** The open connections, each with the function that cancels its idle timer. The longest idle one is first. */
  const connections = new Map<Socket, () => void>();
  const markActive = (socket: Socket): void => {
    connections.get(socket)?.();
    connections.delete(socket);
    connections.set(
      socket,
      clock.after(TCP_IDLE_MS, () => socket.destroy()),
    );
  };
  const budget = createBudget<'address'>('dns-connections', {
    total: TCP_CONNECTIONS_MAX,
    shares: { address: TCP_CONNECTIONS_PER_ADDRESS_MAX },
  });
  /** The claim of each connection in the budget. */
  const claims = new Map<Socket, ReturnType<typeof claimOf>>();
  const forget = (socket: Socket): void => {
    connections.get(socket)?.();
    connections.delete(socket);
    const claim = claims.get(socket);
    if (claim !== undefined) budget.release(claim);
    claims.delete(socket);
  };
  /** Closes the connection that was idle the longest, of all or of one address. */
  const closeLongestIdle = (address: string | undefined): void => {
    const idle = connections
      .keys()
      .find((other) => address === undefined || claims.get(other)?.keys.address === address);
    if (idle !== undefined) forget(idle);
    idle?.destroy();
  };
  const claim = (socket: Socket): void => {
    const wanted = claimOf(socket);
    const bound = budget.take(wanted);
    if (bound !== undefined) {
      closeLongestIdle(bound === 'address' ? wanted.keys.address : undefined);
      budget.take(wanted);
    }
    claims.set(socket, wanted);
  };
  const server = createServer({ noDelay: true }, (socket) => {
    claim(socket);
    markActive(socket);
    socket.once('close', () => forget(socket));
    // An error closes the connection, which is all there is to do.
    socket.on('error', () => undefined);
    answerAll(socket, responder, () => connections.has(socket) && markActive(socket)).catch(() => socket.destroy());
  });
  server.listen(port, host);
  await once(server, 'listening');
  server.on('error', (error) => log.warn(error, 'DNS connection failed'));
  return {
    address: server.address() as AddressInfo, // because the server listens on TCP
    get connectionCount() {
      return connections.size;
    },
    connections: budget,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of connections.keys()) socket.destroySoon();
      const cancel = clock.after(TCP_CLOSE_TIMEOUT_MS, () => {
        for (const socket of connections.keys()) socket.destroy();
      });
      await closed;
      cancel();
    },
  };
}

/** Loopback has no share, because one forwarder may ask for all programs of its machine. */
function claimOf({ remoteAddress = '' }: Socket) {
  return { keys: { address: isLoopback(remoteAddress) ? undefined : addressKey(remoteAddress) } };
}

/** Answers questions until the client closes the connection or sends one that is too long. */
async function answerAll(socket: Socket, { respond }: Responder, onQuestion: () => void): Promise<void> {
  let unread: Buffer = Buffer.alloc(0);
  let answeredCount = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
    for (let length = nextLength(unread); length !== undefined; length = nextLength(unread)) {
      if (length > QUERY_BYTES_MAX) return;
      if (unread.length < LENGTH_BYTES + length) break;
      const message = unread.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
      unread = unread.subarray(LENGTH_BYTES + length);
      onQuestion();
      const answer = await respond(message, 'tcp', socket.remoteAddress ?? '');
      if (answer !== undefined && !socket.write(withLength(answer))) await waitForDrain(socket);
      if (++answeredCount % TCP_QUESTIONS_PER_TURN === 0) await setImmediate();
    }
  }
}

const LENGTH_BYTES = 2;

const nextLength = (unread: Buffer): number | undefined =>
  unread.length < LENGTH_BYTES ? undefined : unread.readUInt16BE(0);

function withLength(answer: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(LENGTH_BYTES + answer.length);
  framed.writeUInt16BE(answer.length, 0);
  answer.copy(framed, LENGTH_BYTES);
  return framed;
}

/** Waits until the socket's buffer is empty. Rejects when the connection closes. */
async function waitForDrain(socket: Socket): Promise<void> {
  const ended = new AbortController();
  if (socket.destroyed) ended.abort();
  const onClose = (): void => ended.abort();
  socket.once('close', onClose);
  try {
    await once(socket, 'drain', { signal: ended.signal });
  } finally {
    socket.off('close', onClose);
  }
}
