/**
 * Many clients with one blocking query each, in their own process, so that they do not slow down the measured process.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** The options of the client process. */
export interface BlockingClientOptions {
  readonly port: number;
  /** The bytes of the HTTP request. */
  readonly request: string;
  readonly count: number;
}

export interface BlockingClients extends AsyncDisposable {
  /** Resolves when all responses have arrived, with their times: `performance.timeOrigin + performance.now()`. */
  answerTimes(): Promise<readonly number[]>;
}

/** Opens `count` connections and sends the request on each. Resolves when all requests are sent. */
export async function startBlockingClients(options: BlockingClientOptions): Promise<BlockingClients> {
  const child = fork(path.join(import.meta.dirname, 'blocking-client-process.ts'), [JSON.stringify(options)]);
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
