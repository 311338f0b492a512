/** Generates HTTP load with `wrk`, in its own process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { toolPath } from '../../test/support/tools.ts';

export interface Load {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Each request replaces `COUNT` with its number: eight digits, from 1. */
  readonly body?: string;
  /** Connections, each with one request in flight. */
  readonly connections: number;
  readonly seconds: number;
}

/** A Lua script that inserts the number of the request into its body. */
const NUMBERED_REQUESTS = `local n = 0
request = function()
  n = n + 1
  return wrk.format(nil, nil, nil, (wrk.body:gsub('COUNT', string.format('%08d', n))))
end`;

/** High enough that no request times out on a busy machine. */
const TIMEOUT = '20s';

export interface LoadResult {
  /** Requests per second. */
  readonly rate: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Returns the requests per second. @throws Error in the same cases as `measureLoad` */
export const measureRate = async (load: Load): Promise<number> => (await measureLoad(load)).rate;

/** Runs the load. @throws Error if a request was not answered with a 2xx status */
export async function measureLoad({
  url,
  method = 'GET',
  headers = {},
  body,
  connections,
  seconds,
}: Load): Promise<LoadResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'accord-wrk-'));
  try {
    const script = path.join(folder, 'request.lua');
    const lines = [`wrk.method = ${JSON.stringify(method)}`];
    for (const [name, value] of Object.entries(headers)) {
      lines.push(`wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`);
    }
    if (body !== undefined) lines.push(`wrk.body = ${JSON.stringify(body)}`);
    if (body?.includes('COUNT') === true) lines.push(NUMBERED_REQUESTS);
    await writeFile(script, lines.join('\n'));
    const child = spawn(toolPath('wrk'), [
      '-t1',
      `-c${connections}`,
      `-d${seconds}s`,
      '--latency',
      '--timeout',
      TIMEOUT,
      '-s',
      script,
      url,
    ]);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    await once(child, 'close');
    const rate = /Requests\/sec:\s+([\d.]+)/.exec(output)?.[1];
    if (rate === undefined || /Non-2xx|Socket errors/.test(output)) throw new Error(`the load failed:\n${output}`);
    return { rate: Number(rate), p50Ms: latencyMs(output, 50), p99Ms: latencyMs(output, 99) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Parses a line such as `50%  812.00us`, and returns milliseconds. */
function latencyMs(output: string, percent: number): number {
  const [, value, unit = ''] = new RegExp(`\\b${percent}%\\s+([\\d.]+)(us|ms|s)\\b`).exec(output) ?? [];
  return Number(value) * ({ us: 0.001, ms: 1, s: 1_000 }[unit] ?? Number.NaN);
}
