/** A server whose holds of the event loop are measured. See `loop-probe.ts`. */
import { connect } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { type Server, type ServerOptions, startServer } from '../process/server.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

export interface MeasuredServer extends AsyncDisposable {
  readonly server: Server;
  /** Returns the longest hold since the previous call, in milliseconds of CPU time. */
  longestHoldMs(): Promise<number>;
}

const PROBE = path.resolve(import.meta.dirname, 'loop-probe.ts');

export async function startMeasuredServer(options: ServerOptions): Promise<MeasuredServer> {
  const directory = await temporaryDirectory();
  const socket = path.join(directory.path, 'probe');
  const environment = { ...options.environment, LOOP_PROBE: socket, NODE_OPTIONS: `--import=${PROBE}` };
  const server = await startServer({ ...options, environment });
  return {
    server,
    async longestHoldMs() {
      const { holdMs } = JSON.parse(await text(connect(socket))) as { readonly holdMs: number };
      return holdMs;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}
