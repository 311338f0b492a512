/** A simulated connection from a dialing server to an accepting one, with the calls on it. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Acceptor } from '../../../../src/peering/stream/accepting/acceptor.ts';
import type { PeerConnection, PeerTarget } from '../../../../src/peering/stream/stream-dependencies.ts';
import { ExchangeSecretRequestSchema } from '../../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { type Clock, sleep } from '../../../../src/state/clock/clock.ts';
import type { Random } from '../../random.ts';
import type { Path } from './simulated-pipe.ts';
import { createSimulatedStream, type SimulatedStream } from './simulated-stream.ts';

/** A connection and the faults that a network can apply to it. */
export interface SimulatedConnection extends PeerConnection {
  /** The address of the dialing server. */
  readonly dialer: string;
  /** The dialed address. */
  readonly target: string;
  /** Ends the connection for both sides. */
  cut(): void;
  /** Silently drops everything that is sent in this direction from now on. */
  dropPackets(direction: 'up' | 'down'): void;
  /** Disconnects one end. The other end notices when the network delivers the reset. */
  disconnect(end: 'dialing' | 'accepting'): void;
  /** Continues delivery after a path is no longer stalled. */
  resume(): void;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly dialer: { readonly address: string; readonly version: string };
  readonly target: PeerTarget;
  readonly up: Path;
  readonly down: Path;
  /** Makes the TCP and TLS handshake, or returns undefined when the server never answers. @throws ConnectError */
  readonly handshake: () => Acceptor | undefined;
  /** Called when both ends have disconnected. */
  readonly onClosed: () => void;
}

/** The interval at which a stalled path is polled. */
const STALL_POLL_MS = 50;

export function createConnection(options: ConnectionOptions): SimulatedConnection {
  const { clock, random, dialer, target, up, down, onClosed } = options;
  const closed = new AbortController();
  const dropped = new Set<'up' | 'down'>();
  let stream: SimulatedStream | undefined;
  let version: string | undefined;

  /** Waits until a packet has traveled one way. */
  const travel = async (direction: 'up' | 'down', signal: AbortSignal): Promise<void> => {
    const path = options[direction];
    await sleep(clock, random.next() * path.delayMsMax, signal);
    while (path.stalled) await sleep(clock, STALL_POLL_MS, signal);
    if (dropped.has(direction)) await untilAborted(signal);
  };
  const handshake = async (signal: AbortSignal): Promise<Acceptor> => {
    await travel('up', signal);
    const acceptor = options.handshake();
    await travel('down', signal);
    return acceptor ?? (await untilAborted(signal));
  };
  /** Runs `action` until the caller cancels or the connection closes. */
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
        const acceptor = await handshake(signal);
        const sent = create(ExchangeSecretRequestSchema, { PeerID: peerId, EstablishmentSecret: establishmentSecret });
        const request = fromBinary(ExchangeSecretRequestSchema, toBinary(ExchangeSecretRequestSchema, sent));
        await travel('up', signal);
        const call = {
          ...dialer,
          disconnected: closed.signal,
          markAuthenticated: () => undefined,
          reset: () => undefined,
        };
        const outcome = await Promise.race([
          Promise.allSettled([acceptor.exchange(request, call)]),
          untilAborted(signal),
        ]);
        await travel('down', signal);
        version = dialer.version;
        if (outcome[0].status === 'rejected') throw outcome[0].reason;
        return outcome[0].value.StreamSecret;
      }),
    async *stream(outgoing, caller) {
      const acceptor = await within(caller, handshake);
      version = dialer.version;
      stream = createSimulatedStream({ clock, random, acceptor, dialer, up, down, onClosed });
      for (const direction of dropped) stream.dropPackets(direction);
      yield* stream.run(outgoing, AbortSignal.any([caller, closed.signal]));
    },
    close() {
      closed.abort();
      if (stream === undefined) onClosed();
    },
    cut() {
      stream?.cut();
      closed.abort();
      onClosed();
    },
    dropPackets(direction) {
      dropped.add(direction);
      stream?.dropPackets(direction);
    },
    disconnect(end) {
      if (stream !== undefined) stream.disconnect(end);
      else connection.cut();
    },
    resume: () => stream?.resume(),
  };
  return connection;
}

/** Rejects with the reason of the signal when it aborts. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
