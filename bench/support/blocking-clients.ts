/** Many clients that each hold one request: in a process of its own, so that its work does not count as the server's. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** What the holding process is told. */
export interface BlockingClientOptions {
  readonly port: number;
  readonly request: string;
  readonly count: number;
}

export interface BlockingClients extends AsyncDisposable {
  /** Resolves with the times (`performance.timeOrigin + now`, milliseconds) at which the answers were complete. */
  answerTimes(): Promise<readonly number[]>;
}

/** Opens `count` connections and sends the request on each; resolves when all are sent. */
export async function startBlockingClients(order: BlockingClientOptions): Promise<BlockingClients> {
  const child = fork(path.join(import.meta.dirname, 'holder-process.ts'), [JSON.stringify(order)]);
  await once(child, 'message');
  const answers = once(child, 'message') as Promise<[readonly number[]]>;
  return {
    answerTimes: async () => (await answers)[0],
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}
