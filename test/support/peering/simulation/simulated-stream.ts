/** The call of a peer stream over a simulated connection. It records what each side received. */
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Acceptor } from '../../../../src/peering/stream/accepting/acceptor.ts';
import type { Side } from '../../../../src/peering/stream/contract.ts';
import {
  type ReplicationMessage,
  ReplicationMessageSchema,
} from '../../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { decodeResource, readMessage } from '../../../../src/peering/stream/wire/messages.ts';
import { type Clock, sleep } from '../../../../src/state/clock/clock.ts';
import type { Random } from '../../random.ts';
import { createPipe, type Path } from './simulated-pipe.ts';

/** The messages that one side of a stream has received. */
export interface Received {
  /** The monotonic time of the last message. */
  atMs: number;
  /** The descriptions of all messages, see `describe`. */
  readonly contents: Set<string>;
}

export interface SimulatedStream {
  readonly received: Readonly<Record<Side, Received>>;
  /** Makes the call. @returns the messages that the dialing side receives. Rejects with a ConnectError */
  run(outgoing: AsyncIterable<ReplicationMessage>, signal: AbortSignal): AsyncIterable<ReplicationMessage>;
  /** Disconnects one end. The other end notices when the network delivers the reset. */
  disconnect(side: Side): void;
  /** Resets both ends. */
  cut(): void;
  /** Silently drops everything that is sent in this direction from now on. */
  dropPackets(direction: 'up' | 'down'): void;
  /** Continues delivery after a path is no longer stalled. */
  resume(): void;
}

export interface StreamOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly acceptor: Acceptor;
  readonly dialer: { readonly address: string; readonly version: string };
  /** From the dialing side to the accepting side. */
  readonly up: Path;
  /** From the accepting side to the dialing side. */
  readonly down: Path;
  /** Called when both sides have disconnected. */
  readonly onClosed: () => void;
}

/** A message of the accepting side, or the error with which the call fails. */
type Outgoing = { readonly bytes: Uint8Array } | { readonly error: ConnectError };

/** The stream of each session, by its outgoing messages. */
const streams = new WeakMap<AsyncIterable<ReplicationMessage>, SimulatedStream>();

/** Returns the stream of a session. @param outgoing the messages of the session (`SessionHandle.outgoing`) */
export const streamOf = (outgoing: AsyncIterable<ReplicationMessage>): SimulatedStream | undefined =>
  streams.get(outgoing);

/** The interval at which a stalled path is polled. */
const STALL_POLL_MS = 50;

export function createSimulatedStream(options: StreamOptions): SimulatedStream {
  const { clock, random, acceptor, dialer, onClosed } = options;
  const up = createPipe<Uint8Array>(clock, options.up, () => random.next());
  const down = createPipe<Outgoing>(clock, options.down, () => random.next());
  const disconnected = new AbortController();
  const disconnectedSides = new Set<Side>();
  const dropped = new Set<'up' | 'down'>();
  const received: Record<Side, Received> = {
    dialing: { atMs: Number.NEGATIVE_INFINITY, contents: new Set() },
    accepting: { atMs: Number.NEGATIVE_INFINITY, contents: new Set() },
  };
  const never = new AbortController().signal;

  const receive = (side: Side, bytes: Uint8Array): ReplicationMessage => {
    const message = fromBinary(ReplicationMessageSchema, bytes);
    received[side].atMs = clock.monotonic();
    received[side].contents.add(describe(message));
    return message;
  };

  const markDisconnected = (side: Side): void => {
    disconnectedSides.add(side);
    if (disconnectedSides.size === 2) onClosed();
  };
  const breakAt = (side: Side): void => {
    if (side === 'dialing') down.break(reset());
    else {
      up.break(reset());
      disconnected.abort();
    }
    markDisconnected(side);
  };
  /** Delivers the reset to `side`, before or after the messages in flight. */
  const deliverReset = async (side: Side): Promise<void> => {
    const direction = side === 'dialing' ? 'down' : 'up';
    const path = options[direction];
    if (random.chance(0.7)) await sleep(clock, path.delayMsMax, never);
    while (path.stalled && !dropped.has(direction)) await sleep(clock, STALL_POLL_MS, never);
    if (!dropped.has(direction)) breakAt(side);
  };

  async function* incoming(): AsyncGenerator<ReplicationMessage> {
    for (let bytes = await up.read(); bytes !== undefined; bytes = await up.read()) yield receive('accepting', bytes);
  }

  async function serve(): Promise<void> {
    const call = {
      address: dialer.address,
      version: dialer.version,
      disconnected: disconnected.signal,
      markAuthenticated: () => undefined,
      reset: () => stream.disconnect('accepting'),
    };
    try {
      const answers = acceptor.stream(incoming(), call);
      streams.set(answers, stream);
      await forward(answers, disconnected.signal, (message) =>
        down.write({ bytes: toBinary(ReplicationMessageSchema, message) }),
      );
    } catch (error) {
      await down.write({ error: toWireError(error) });
    }
    down.end();
  }

  const stream: SimulatedStream = {
    received,
    async *run(outgoing, signal) {
      streams.set(outgoing, stream);
      const onAbort = (): void => stream.disconnect('dialing');
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      void serve();
      forward(outgoing, signal, (message) => up.write(toBinary(ReplicationMessageSchema, message))).then(
        up.end,
        up.end,
      );
      for (let answer = await down.read(); answer !== undefined; answer = await down.read()) {
        if ('error' in answer) throw answer.error;
        yield receive('dialing', answer.bytes);
      }
    },
    disconnect(side) {
      if (disconnectedSides.has(side)) return;
      breakAt(side);
      const other = side === 'dialing' ? 'accepting' : 'dialing';
      if (!disconnectedSides.has(other)) void deliverReset(other);
    },
    cut() {
      breakAt('dialing');
      breakAt('accepting');
    },
    dropPackets(direction) {
      dropped.add(direction);
      if (direction === 'up') up.dropAll();
      else down.dropAll();
    },
    resume() {
      up.resume();
      down.resume();
    },
  };
  return stream;
}

/** Pulls one message after another, as Connect does, until the messages end or `disconnected` aborts. */
async function forward(
  messages: AsyncIterable<ReplicationMessage>,
  disconnected: AbortSignal,
  put: (message: ReplicationMessage) => Promise<void>,
): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const abandon = (): void => void iterator.return?.();
  disconnected.addEventListener('abort', abandon, { once: true });
  if (disconnected.aborted) abandon();
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) break;
    await put(next.value);
  }
  disconnected.removeEventListener('abort', abandon);
}

const reset = (): ConnectError => new ConnectError('the connection was reset', Code.Unavailable);

/** Converts an error to the one that Connect creates from the trailers on the receiving side. */
function toWireError(error: unknown): ConnectError {
  const { rawMessage, code } = ConnectError.from(error);
  const wire = new ConnectError(rawMessage, code);
  wire.isWireError = true;
  return wire;
}

/** Describes a message: a resource by kind and content, any other message by its type. */
function describe(message: ReplicationMessage): string {
  const received = readMessage(message);
  if (received.type !== 'response-received') return received.type;
  const { kind, message: content } = decodeResource(received.response);
  if (kind === 'list') return `list:${content.Services.join()}`;
  if (kind === 'roots') return `roots:${content.RootPEMs.join()}`;
  if (kind === 'server-addresses') return `server-addresses:${content.Addresses.join()}`;
  return kind;
}
