/** A TCP proxy that injects network faults: latency, limited bandwidth, resets, and lost bytes. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Decides whether to pass a chunk from the server, to drop it, or to reset the connection instead. */
export type AnswerFilter = (chunk: Buffer) => 'pass' | 'drop' | 'cut';

export type Direction = 'to-server' | 'to-client';

/** Returns how many bytes of a chunk pass. The proxy drops the rest. */
export type ChunkFilter = (direction: Direction, chunk: Buffer) => number;

export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:…` */
  readonly url: string;
  /** Number of open connections. */
  readonly connections: number;
  /** Delays every chunk in both directions. Call it before the first connection, because a change can reorder bytes. */
  delay(ms: number): void;
  /** Limits the bandwidth in each direction of each connection. `undefined` removes the limit. */
  throttle(bytesPerSecond: number | undefined): void;
  /** Resets every open connection. New connections work. */
  cut(): void;
  /** Resets every open connection, and every new connection until `heal`. */
  sever(): void;
  /** Resets each new connection after `draw()` bytes in both directions together. */
  cutAfter(draw: (() => number) | undefined): void;
  /** Accepts connections and keeps them open, but drops all bytes and ends, in `direction` or in both directions. */
  silence(direction?: Direction): void;
  /** Ends `silence` and `sever`: resets the open connections, and new connections work. */
  heal(): void;
  /** Filters the chunks from the server. `undefined` passes all of them. */
  filterAnswers(filter: AnswerFilter | undefined): void;
  /** Filters the chunks of both directions. `undefined` passes all of them. */
  filterChunks(filter: ChunkFilter | undefined): void;
}

/** Starts a proxy on loopback that forwards to `port` on loopback. */
export async function startProxy(port: number): Promise<FaultProxy> {
  const faults: Faults = {
    delayMs: 0,
    bytesPerSecond: undefined,
    silent: new Set(),
    severed: false,
    drawCut: undefined,
    filterAnswers: undefined,
    filterChunks: undefined,
  };
  const pairs = new Set<Pair>();
  const server = createServer({ noDelay: true }, (client) => {
    // Errors need no handling, because `close` follows.
    client.on('error', () => undefined);
    if (faults.severed) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ port, host: '127.0.0.1', noDelay: true });
    upstream.on('error', () => undefined);
    const pair: Pair = { client, upstream, bytesLeft: faults.drawCut?.() ?? Number.POSITIVE_INFINITY };
    pairs.add(pair);
    const closed = (direction: Direction) => (): void => {
      if (faults.silent.has(direction)) return;
      pairs.delete(pair);
      reset(pair);
    };
    client.on('close', closed('to-server'));
    upstream.on('close', closed('to-client'));
    forward(pair, 'to-server', faults);
    forward(pair, 'to-client', faults);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  const cut = (): void => {
    for (const pair of pairs) reset(pair);
    pairs.clear();
  };
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}`,
    get connections() {
      return pairs.size;
    },
    delay(ms) {
      faults.delayMs = ms;
    },
    throttle(bytesPerSecond) {
      faults.bytesPerSecond = bytesPerSecond;
    },
    cut,
    sever() {
      faults.severed = true;
      cut();
    },
    cutAfter(draw) {
      faults.drawCut = draw;
    },
    silence(direction) {
      for (const silent of direction === undefined ? DIRECTIONS : [direction]) faults.silent.add(silent);
    },
    heal() {
      if (faults.silent.size === 0 && !faults.severed) return;
      faults.silent.clear();
      faults.severed = false;
      cut();
    },
    filterAnswers(filter) {
      faults.filterAnswers = filter;
    },
    filterChunks(filter) {
      faults.filterChunks = filter;
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const DIRECTIONS: readonly Direction[] = ['to-server', 'to-client'];

interface Faults {
  delayMs: number;
  bytesPerSecond: number | undefined;
  readonly silent: Set<Direction>;
  severed: boolean;
  drawCut: (() => number) | undefined;
  filterAnswers: AnswerFilter | undefined;
  filterChunks: ChunkFilter | undefined;
}

/** The two connections of one client. */
interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Bytes that still pass before the proxy resets the connections. */
  bytesLeft: number;
}

/** Forwards bytes in one direction, subject to the current faults. */
function forward(pair: Pair, direction: Direction, faults: Faults): void {
  const [from, to] = direction === 'to-server' ? [pair.client, pair.upstream] : [pair.upstream, pair.client];
  from.on('data', (chunk: Buffer) => {
    if (faults.silent.has(direction)) return;
    const decision = direction === 'to-client' ? (faults.filterAnswers?.(chunk) ?? 'pass') : 'pass';
    if (decision === 'cut') reset(pair);
    if (decision !== 'pass') return;
    const passing = chunk.subarray(
      0,
      Math.min(faults.filterChunks?.(direction, chunk) ?? chunk.length, pair.bytesLeft),
    );
    pair.bytesLeft -= chunk.length;
    if (faults.bytesPerSecond !== undefined) {
      from.pause();
      void writeThrottled(passing, to, faults).then(() => from.resume());
    } else if (faults.delayMs === 0) to.write(passing);
    else setTimeout(() => void (to.writable && to.write(passing)), faults.delayMs);
    if (pair.bytesLeft <= 0) reset(pair);
  });
}

/** Number of writes per second to a throttled connection. */
const WRITES_PER_SECOND = 20;

async function writeThrottled(chunk: Buffer, to: Socket, faults: Faults): Promise<void> {
  let rest = chunk;
  let from = performance.now();
  while (rest.length > 0 && to.writable) {
    await delay(1_000 / WRITES_PER_SECOND);
    // Uses the measured time, because late timers on a busy machine must not reduce the bandwidth.
    const now = performance.now();
    const bytes = Math.ceil(((faults.bytesPerSecond ?? Number.POSITIVE_INFINITY) * (now - from)) / 1_000);
    to.write(rest.subarray(0, bytes));
    rest = rest.subarray(bytes);
    from = now;
  }
}

function reset({ client, upstream }: Pair): void {
  for (const socket of [client, upstream]) {
    // In Node.js 26, a reset during a shutdown fails with EINVAL and leaves a handle that never closes. The process
    // would then loop forever when it frees its handles at exit.
    if (socket.writableEnded) socket.destroy();
    else socket.resetAndDestroy();
  }
}
