/** A TCP proxy that does to a connection what networks do: slow, cut, silent, or cut just before an answer. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Decides about bytes that come from the server: pass them on, lose them, or cut the connection instead. */
export type AnswerFilter = (chunk: Buffer) => 'pass' | 'lose' | 'cut';

/** Which way bytes go. */
export type Direction = 'to-server' | 'to-client';

/** Decides about a chunk that goes either way: how many of its bytes pass; the rest is lost. */
export type ChunkFilter = (direction: Direction, chunk: Buffer) => number;

export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:…` */
  readonly url: string;
  /** Connections that are open. */
  readonly connections: number;
  /** Adds this to the way of every chunk, in each direction. For connections to come: a change could reorder bytes. */
  delay(ms: number): void;
  /** Passes so many bytes a second, in each direction of each connection; undefined: as many as come. */
  throttle(bytesPerSecond: number | undefined): void;
  /** Ends every connection now, with a reset; new ones are taken. */
  cut(): void;
  /** Ends every connection now, and every new one at once, with a reset. */
  sever(): void;
  /** Cuts each connection to come when it has carried as many bytes, both ways together, as are drawn for it. */
  cutAfter(draw: (() => number) | undefined): void;
  /** Half-open: connections stay, new ones are accepted, and nothing passes: no byte, and no word of an end. That way alone, if given. */
  silence(direction?: Direction): void;
  /** After silence or severing: old connections are cut, new ones work. */
  heal(): void;
  /** Looks at what comes from the server; undefined passes everything. */
  filterAnswers(filter: AnswerFilter | undefined): void;
  /** Looks at what goes either way; undefined passes everything. */
  filterChunks(filter: ChunkFilter | undefined): void;
}

/** Starts a proxy on loopback to `port` there. */
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
    // Whoever is gone has nothing to be told.
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
    pass(pair, 'to-server', faults);
    pass(pair, 'to-client', faults);
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
      for (const silent of direction === undefined ? BOTH : [direction]) faults.silent.add(silent);
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

const BOTH: readonly Direction[] = ['to-server', 'to-client'];

interface Faults {
  delayMs: number;
  bytesPerSecond: number | undefined;
  readonly silent: Set<Direction>;
  severed: boolean;
  drawCut: (() => number) | undefined;
  filterAnswers: AnswerFilter | undefined;
  filterChunks: ChunkFilter | undefined;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** What it may still carry before it is cut. */
  bytesLeft: number;
}

/** Passes bytes on, as the faults of the moment let them. */
function pass(pair: Pair, direction: Direction, faults: Faults): void {
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
      void trickle(passing, to, faults).then(() => from.resume());
    } else if (faults.delayMs === 0) to.write(passing);
    else setTimeout(() => void (to.writable && to.write(passing)), faults.delayMs);
    if (pair.bytesLeft <= 0) reset(pair);
  });
}

/** Parts of a second in which a slow connection passes bytes. */
const TRICKLES_PER_SECOND = 20;

async function trickle(chunk: Buffer, to: Socket, faults: Faults): Promise<void> {
  let rest = chunk;
  let from = performance.now();
  while (rest.length > 0 && to.writable) {
    await delay(1_000 / TRICKLES_PER_SECOND);
    // By the time that has passed: on a busy machine timers are late, and the connection must not be slower for it.
    const now = performance.now();
    const bytes = Math.ceil(((faults.bytesPerSecond ?? Number.POSITIVE_INFINITY) * (now - from)) / 1_000);
    to.write(rest.subarray(0, bytes));
    rest = rest.subarray(bytes);
    from = now;
  }
}

function reset({ client, upstream }: Pair): void {
  for (const socket of [client, upstream]) {
    // A reset while a shutdown is under way fails with EINVAL in Node 26 and leaves a handle that never closes: the
    // process would spin for ever when it frees its handles at the end.
    if (socket.writableEnded) socket.destroy();
    else socket.resetAndDestroy();
  }
}
