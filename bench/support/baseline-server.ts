/** Starts bare `node:http` in a process of its own. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Answer } from '../../test/support/process/server.ts';

export interface BaselineServer extends AsyncDisposable {
  readonly address: string;
  readonly pid: number;
}

/** Headers that Node adds by itself. */
const OF_NODE = new Set(['date', 'connection', 'keep-alive']);

/** A server that answers everything with the headers and the body of `answer`. */
export async function startBaseline(answer: Pick<Answer, 'headers' | 'text'>): Promise<BaselineServer> {
  const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
    OF_NODE.has(name) || value === undefined ? [] : [name, String(value)],
  );
  const child = fork(path.join(import.meta.dirname, 'bare-server.ts'));
  // Not as an argument: an answer may be longer than those may be.
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
