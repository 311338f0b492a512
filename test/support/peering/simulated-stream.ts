/** The call of one peer stream over a simulated connection, and what has come through it. */
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Acceptor } from '../../../src/peering/stream/accepting/acceptor.ts';
import type { Side } from '../../../src/peering/stream/contract.ts';
import {
  type ReplicationMessage,
  ReplicationMessageSchema,
} from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { decodeResource, readMessage } from '../../../src/peering/stream/wire/messages.ts';
import { type Clock, sleep } from '../../../src/state/clock/clock.ts';
import type { Random } from '../random.ts';
import { createPipe, type Path } from './simulated-pipe.ts';

/** What one side of a stream has heard. */
export interface Heard {
  /** When the last message came, monotonic. */
  atMs: number;
  /** The resources and the kinds of other messages that came, as `textOf` puts them. */
  readonly what: Set<string>;
}

export interface SimulatedStream {
  readonly heard: Readonly<Record<Side, Heard>>;
  /** Makes the call. @returns what the dialing side receives; rejects with a ConnectError */
  run(outgoing: AsyncIterable<ReplicationMessage>, signal: AbortSignal): AsyncIterable<ReplicationMessage>;
  /** One end is gone at once; the other one hears of it when the network lets it. */
  leave(side: Side): void;
  /** Both ends find it broken. */
  cut(): void;
  /** What is sent in this direction is lost from now on, and nobody is told. */
  forget(direction: 'up' | 'down'): void;
  /** The paths are open again. */
  resume(): void;
}

export interface StreamOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly acceptor: Acceptor;
  readonly dialer: { readonly address: string; readonly version: string };
  /** From the dialing side to the accepting one, and back. */
  readonly up: Path;
  readonly down: Path;
  /** Both sides have left. */
  readonly over: () => void;
}

/** What the accepting side sends: messages, and maybe an error in the end. */
type Answer = { readonly bytes: Uint8Array } | { readonly error: ConnectError };

/** By what a session sends: the stream that it goes over. */
const streams = new WeakMap<AsyncIterable<ReplicationMessage>, SimulatedStream>();

/** The stream of a session. @param outgoing of its handle */
export const streamOf = (outgoing: AsyncIterable<ReplicationMessage>): SimulatedStream | undefined =>
  streams.get(outgoing);

/** How often a stalled path is looked at by who has to tell something. */
const LOOK_MS = 50;

export function createSimulatedStream(options: StreamOptions): SimulatedStream {
  const { clock, random, acceptor, dialer, over } = options;
  const up = createPipe<Uint8Array>(clock, options.up, () => random.next());
  const down = createPipe<Answer>(clock, options.down, () => random.next());
  const gone = new AbortController();
  const left = new Set<Side>();
  const forgotten = new Set<'up' | 'down'>();
  const heard: Record<Side, Heard> = {
    dialing: { atMs: Number.NEGATIVE_INFINITY, what: new Set() },
    accepting: { atMs: Number.NEGATIVE_INFINITY, what: new Set() },
  };
  const never = new AbortController().signal;

  const receive = (side: Side, bytes: Uint8Array): ReplicationMessage => {
    const message = fromBinary(ReplicationMessageSchema, bytes);
    heard[side].atMs = clock.monotonic();
    heard[side].what.add(textOf(message));
    return message;
  };

  const markLeft = (side: Side): void => {
    left.add(side);
    if (left.size === 2) over();
  };
  const breakAt = (side: Side): void => {
    if (side === 'dialing') down.break(reset());
    else {
      up.break(reset());
      gone.abort();
    }
    markLeft(side);
  };
  /** Tells one side that the other has left: after what that has sent, or before. */
  const tell = async (side: Side): Promise<void> => {
    const direction = side === 'dialing' ? 'down' : 'up';
    const path = options[direction];
    if (random.chance(0.7)) await sleep(clock, path.delayMsMax, never);
    while (path.stalled && !forgotten.has(direction)) await sleep(clock, LOOK_MS, never);
    if (!forgotten.has(direction)) breakAt(side);
  };

  async function* incoming(): AsyncGenerator<ReplicationMessage> {
    for (let bytes = await up.take(); bytes !== undefined; bytes = await up.take()) yield receive('accepting', bytes);
  }

  async function serve(): Promise<void> {
    const call = {
      address: dialer.address,
      version: dialer.version,
      gone: gone.signal,
      prove: () => undefined,
      reset: () => stream.leave('accepting'),
    };
    try {
      const answers = acceptor.stream(incoming(), call);
      streams.set(answers, stream);
      await forward(answers, gone.signal, (message) =>
        down.put({ bytes: toBinary(ReplicationMessageSchema, message) }),
      );
    } catch (error) {
      await down.put({ error: asWireError(error) });
    }
    down.end();
  }

  const stream: SimulatedStream = {
    heard,
    async *run(outgoing, signal) {
      streams.set(outgoing, stream);
      const onAbort = (): void => stream.leave('dialing');
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      void serve();
      forward(outgoing, signal, (message) => up.put(toBinary(ReplicationMessageSchema, message))).then(up.end, up.end);
      for (let answer = await down.take(); answer !== undefined; answer = await down.take()) {
        if ('error' in answer) throw answer.error;
        yield receive('dialing', answer.bytes);
      }
    },
    leave(side) {
      if (left.has(side)) return;
      breakAt(side);
      const other = side === 'dialing' ? 'accepting' : 'dialing';
      if (!left.has(other)) void tell(other);
    },
    cut() {
      breakAt('dialing');
      breakAt('accepting');
    },
    forget(direction) {
      forgotten.add(direction);
      if (direction === 'up') up.swallow();
      else down.swallow();
    },
    resume() {
      up.resume();
      down.resume();
    },
  };
  return stream;
}

/** Asks for one message after another, as Connect does, until there are no more or the call is gone. */
async function forward(
  messages: AsyncIterable<ReplicationMessage>,
  gone: AbortSignal,
  put: (message: ReplicationMessage) => Promise<void>,
): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const abandon = (): void => void iterator.return?.();
  gone.addEventListener('abort', abandon, { once: true });
  if (gone.aborted) abandon();
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) break;
    await put(next.value);
  }
  gone.removeEventListener('abort', abandon);
}

const reset = (): ConnectError => new ConnectError('the connection was reset', Code.Unavailable);

/** As the other side's Connect makes it of the trailers. */
function asWireError(error: unknown): ConnectError {
  const { rawMessage, code } = ConnectError.from(error);
  const wire = new ConnectError(rawMessage, code);
  wire.isWireError = true;
  return wire;
}

/** A message as it is told from others: a resource by kind and content. */
function textOf(message: ReplicationMessage): string {
  const received = readMessage(message);
  if (received.type !== 'response-received') return received.type;
  const { kind, message: content } = decodeResource(received.response);
  if (kind === 'list') return `list:${content.Services.join()}`;
  if (kind === 'roots') return `roots:${content.RootPEMs.join()}`;
  if (kind === 'server-addresses') return `server-addresses:${content.Addresses.join()}`;
  return kind;
}
