/** The baseline: a bare `node:http` server in its own process. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Answer } from '../../test/support/process/server.ts';

export interface BaselineServer extends AsyncDisposable {
  readonly address: string;
  readonly pid: number;
}

/** Headers that Node.js adds. */
const ADDED_HEADERS = new Set(['date', 'connection', 'keep-alive']);

/** Starts a server that answers every request with the headers and the body of `answer`. */
export async function startBaseline(answer: Pick<Answer, 'headers' | 'text'>): Promise<BaselineServer> {
  const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
    ADDED_HEADERS.has(name) || value === undefined ? [] : [name, String(value)],
  );
  const child = fork(path.join(import.meta.dirname, 'baseline-server-process.ts'));
  // Sent as a message, because the body may exceed the length limit of arguments.
  child.send({ headers, body: answer.text });
  const [port] = (await once(child, 'message')) as [number];
  return {
    address: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}
