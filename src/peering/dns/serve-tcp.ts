/**
 * Questions and answers over TCP, each after its length: several one after another on a connection, sent without waiting
 * for answers if the client likes, and answered in order. A client that does not take its answers is not read any more.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../state/clock/clock.ts';
import { QUERY_BYTES_MAX, TCP_CLOSING_MS, TCP_CONNECTIONS_MAX, TCP_IDLE_MS, TCP_QUESTIONS_A_TURN } from './limits.ts';
import type { QuietLog } from './rate-limited-log.ts';
import type { Responder } from './respond.ts';
import type { Listen } from './serve-udp.ts';

export interface TcpService extends AsyncDisposable {
  readonly address: AddressInfo;
  readonly connectionCount: number;
}

export interface Around {
  readonly clock: Clock;
  readonly log: QuietLog;
}

/** Answers until it is disposed. @throws Error of the system, such as EADDRINUSE */
export async function serveTcp({ host, port }: Listen, responder: Responder, around: Around): Promise<TcpService> {
  const { clock, log } = around;
  /** Each with what ends it unless it asks in time; the one that was quiet the longest first. */
  const connections = new Map<Socket, () => void>();
  const isBusy = (socket: Socket): void => {
    connections.get(socket)?.();
    connections.delete(socket);
    connections.set(
      socket,
      clock.after(TCP_IDLE_MS, () => socket.destroy()),
    );
  };
  const displaceOne = (): void => {
    const [quietest] = connections.keys();
    if (quietest !== undefined) forget(quietest);
    quietest?.destroy();
  };
  const forget = (socket: Socket): void => {
    connections.get(socket)?.();
    connections.delete(socket);
  };
  const server = createServer({ noDelay: true }, (socket) => {
    if (connections.size >= TCP_CONNECTIONS_MAX) displaceOne();
    isBusy(socket);
    socket.once('close', () => forget(socket));
    // A connection that breaks has nobody who could be told, now or after its last question.
    socket.on('error', () => undefined);
    answerAll(socket, responder, () => connections.has(socket) && isBusy(socket)).catch(() => socket.destroy());
  });
  server.listen(port, host);
  await once(server, 'listening');
  server.on('error', (error) => log.warn(error, 'connections for DNS cannot be taken'));
  return {
    address: server.address() as AddressInfo, // of a listening TCP server
    get connectionCount() {
      return connections.size;
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of connections.keys()) socket.destroySoon();
      const cancel = clock.after(TCP_CLOSING_MS, () => {
        for (const socket of connections.keys()) socket.destroy();
      });
      await closed;
      cancel();
    },
  };
}

/** Reads questions and answers each, until the client or a question too long ends it. */
async function answerAll(socket: Socket, { respond }: Responder, onQuestion: () => void): Promise<void> {
  let unread: Buffer = Buffer.alloc(0);
  let ofTurn = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
    for (let length = lengthOfNext(unread); length !== undefined; length = lengthOfNext(unread)) {
      if (length > QUERY_BYTES_MAX) return;
      if (unread.length < LENGTH_BYTES + length) break;
      const message = unread.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
      unread = unread.subarray(LENGTH_BYTES + length);
      onQuestion();
      const answer = respond(message, 'tcp');
      if (answer !== undefined && !socket.write(withLength(answer))) await untilTaken(socket);
      if (++ofTurn % TCP_QUESTIONS_A_TURN === 0) await setImmediate();
    }
  }
}

const LENGTH_BYTES = 2;

const lengthOfNext = (unread: Buffer): number | undefined =>
  unread.length < LENGTH_BYTES ? undefined : unread.readUInt16BE(0);

function withLength(answer: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(LENGTH_BYTES + answer.length);
  framed.writeUInt16BE(answer.length, 0);
  answer.copy(framed, LENGTH_BYTES);
  return framed;
}

/** Resolves when the client has taken what was written; rejects when the connection ends. */
async function untilTaken(socket: Socket): Promise<void> {
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
