/** A TCP proxy that does to a connection what networks do: slow, cut, silent, or cut just before an answer. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Decides about bytes that come from the server: pass them on, lose them, or cut the connection instead. */
export type AnswerFilter = (chunk: Buffer) => 'pass' | 'lose' | 'cut';

export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:…` */
  readonly url: string;
  /** Connections that are open. */
  readonly connections: number;
  /** Adds this to the way of every chunk, in each direction. For connections to come: a change could reorder bytes. */
  delay(ms: number): void;
  /** Ends every connection now, with a reset; new ones are taken. */
  cut(): void;
  /** Half-open: connections stay, new ones are accepted, and nothing passes, in either direction. */
  silence(): void;
  /** After silence: old connections are cut, new ones work. */
  heal(): void;
  /** Looks at what comes from the server; undefined passes everything. */
  filterAnswers(filter: AnswerFilter | undefined): void;
}

/** Starts a proxy on loopback to `port` there. */
export async function startProxy(port: number): Promise<FaultProxy> {
  const faults: Faults = { delayMs: 0, silent: false, filter: undefined };
  const pairs = new Set<Pair>();
  const server = createServer({ noDelay: true }, (client) => {
    const pair = { client, upstream: connect({ port, host: '127.0.0.1', noDelay: true }) };
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      reset(pair);
    };
    for (const socket of [pair.client, pair.upstream]) socket.on('error', end).on('close', end);
    pass(pair.client, pair.upstream, faults);
    pass(pair.upstream, pair.client, faults, end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  const cut = (): void => {
    for (const pair of [...pairs]) reset(pair);
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
    cut,
    silence() {
      faults.silent = true;
    },
    heal() {
      faults.silent = false;
      cut();
    },
    filterAnswers(filter) {
      faults.filter = filter;
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Faults {
  delayMs: number;
  silent: boolean;
  filter: AnswerFilter | undefined;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
}

/** Passes bytes on; `cut` ends the connection when the filter says so (only answers have one). */
function pass(from: Socket, to: Socket, faults: Faults, cut?: () => void): void {
  from.on('data', (chunk: Buffer) => {
    if (faults.silent) return;
    const decision = cut === undefined ? 'pass' : (faults.filter?.(chunk) ?? 'pass');
    if (decision === 'cut') cut?.();
    if (decision !== 'pass') return;
    if (faults.delayMs === 0) to.write(chunk);
    else setTimeout(() => void (to.writable && to.write(chunk)), faults.delayMs);
  });
}

function reset({ client, upstream }: Pair): void {
  for (const socket of [client, upstream]) {
    // A reset while a shutdown is under way fails with EINVAL in Node 26 and leaves a handle that never closes: the
    // process would spin for ever when it frees its handles at the end.
    if (socket.writableEnded) socket.destroy();
    else socket.resetAndDestroy();
  }
}
