/** Bare `node:http2` streams over TLS between two processes. Their memory is the lower bound for a peering. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { GC_ON_SIGNAL_ARGUMENTS } from './resident-memory.ts';

export interface BaselineStreams extends AsyncDisposable {
  readonly servingPid: number;
  readonly callingPid: number;
  /** Opens more streams, each on its own connection, and sends one message in each direction. */
  open(count: number): Promise<void>;
}

export async function startBaselineStreams(): Promise<BaselineStreams> {
  const file = path.join(import.meta.dirname, 'baseline-stream-process.ts');
  const options = { execArgv: [...GC_ON_SIGNAL_ARGUMENTS] };
  const serving = fork(file, ['serve'], options);
  const [{ port, certificate }] = (await once(serving, 'message')) as [{ port: number; certificate: string }];
  const calling = fork(file, ['call', String(port), certificate], options);
  await once(calling, 'message');
  return {
    servingPid: serving.pid ?? 0,
    callingPid: calling.pid ?? 0,
    async open(count) {
      calling.send(count);
      await once(calling, 'message');
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([calling, serving].map(end));
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  child.disconnect();
  await once(child, 'exit');
}
