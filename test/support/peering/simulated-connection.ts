/** One simulated connection, from a dialing server to an accepting one, with the calls on it. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Acceptor } from '../../../src/peering/stream/accepting/acceptor.ts';
import type { PeerConnection, PeerTarget } from '../../../src/peering/stream/stream-dependencies.ts';
import { ExchangeSecretRequestSchema } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { type Clock, sleep } from '../../../src/state/clock/clock.ts';
import type { Random } from '../random.ts';
import type { Path } from './simulated-pipe.ts';
import { createSimulatedStream, type SimulatedStream } from './simulated-stream.ts';

/** What a network can do to a connection. */
export interface SimulatedConnection extends PeerConnection {
  /** The address of the server that dials. */
  readonly dialer: string;
  /** The address that it dials. */
  readonly target: string;
  /** Ends it for both sides. */
  cut(): void;
  /** What is sent in this direction is lost from now on, and nobody is told. */
  forget(direction: 'up' | 'down'): void;
  /** The server at this end is gone; the other one hears of it as soon as the network lets it. */
  abandon(end: 'dialing' | 'accepting'): void;
  /** The paths are open again. */
  resume(): void;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly dialer: { readonly address: string; readonly version: string };
  readonly target: PeerTarget;
  readonly up: Path;
  readonly down: Path;
  /** TCP and TLS: the server at the other end. Rejects with a ConnectError; undefined: nobody says anything. */
  readonly meet: () => Acceptor | undefined;
  /** Nobody has it any more. */
  readonly over: () => void;
}

/** How often a stalled path is looked at. */
const LOOK_MS = 50;

export function createConnection(options: ConnectionOptions): SimulatedConnection {
  const { clock, random, dialer, target, up, down, over } = options;
  const closed = new AbortController();
  const forgotten = new Set<'up' | 'down'>();
  let stream: SimulatedStream | undefined;
  let version: string | undefined;

  /** One way of a packet. */
  const travel = async (direction: 'up' | 'down', signal: AbortSignal): Promise<void> => {
    const path = options[direction];
    await sleep(clock, random.next() * path.delayMsMax, signal);
    while (path.stalled) await sleep(clock, LOOK_MS, signal);
    if (forgotten.has(direction)) await forever(signal);
  };
  const meet = async (signal: AbortSignal): Promise<Acceptor> => {
    await travel('up', signal);
    const acceptor = options.meet();
    await travel('down', signal);
    return acceptor ?? (await forever(signal));
  };
  /** Until the caller gives up or the connection is gone. */
  const within = async <T>(caller: AbortSignal, action: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const signal = AbortSignal.any([caller, closed.signal]);
    try {
      return await action(signal);
    } catch (error) {
      throw signal.aborted ? new ConnectError('the call was canceled', Code.Canceled) : error;
    }
  };

  const connection: SimulatedConnection = {
    dialer: dialer.address,
    target: target.address,
    get version() {
      return version;
    },
    exchange: (peerId, establishmentSecret, caller) =>
      within(caller, async (signal) => {
        const acceptor = await meet(signal);
        const asked = create(ExchangeSecretRequestSchema, { PeerID: peerId, EstablishmentSecret: establishmentSecret });
        const request = fromBinary(ExchangeSecretRequestSchema, toBinary(ExchangeSecretRequestSchema, asked));
        await travel('up', signal);
        const call = {
          ...dialer,
          gone: closed.signal,
          prove: () => undefined,
          reset: () => undefined,
        };
        const outcome = await Promise.race([Promise.allSettled([acceptor.exchange(request, call)]), forever(signal)]);
        await travel('down', signal);
        version = dialer.version;
        if (outcome[0].status === 'rejected') throw outcome[0].reason;
        return outcome[0].value.StreamSecret;
      }),
    async *stream(outgoing, caller) {
      const acceptor = await within(caller, meet);
      version = dialer.version;
      stream = createSimulatedStream({ clock, random, acceptor, dialer, up, down, over });
      for (const direction of forgotten) stream.forget(direction);
      yield* stream.run(outgoing, AbortSignal.any([caller, closed.signal]));
    },
    close() {
      closed.abort();
      if (stream === undefined) over();
    },
    cut() {
      stream?.cut();
      closed.abort();
      over();
    },
    forget(direction) {
      forgotten.add(direction);
      stream?.forget(direction);
    },
    abandon(end) {
      if (stream !== undefined) stream.leave(end);
      else connection.cut();
    },
    resume: () => stream?.resume(),
  };
  return connection;
}

/** Rejects with the signal's reason. */
const forever = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
