/** Load from a process of its own: Debian's `wrk`. */
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
  /** `COUNT` in it is another number in every request, of eight digits, from 1. */
  readonly body?: string;
  /** Connections, each with one request under way. */
  readonly connections: number;
  readonly seconds: number;
}

/** Makes each request anew, from the body with its number in it. */
const NUMBERED_REQUESTS = `local n = 0
request = function()
  n = n + 1
  return wrk.format(nil, nil, nil, (wrk.body:gsub('COUNT', string.format('%08d', n))))
end`;

/** How long an answer may take: on a busy machine none is lost for being late. */
const TIMEOUT = '20s';

/** What a load gave. */
export interface LoadResult {
  /** Requests a second. */
  readonly rate: number;
  /** Half of the requests, and 99 of 100, were answered within so many milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Requests a second. @throws Error when any was answered with another status than 2xx, or not at all */
export const measureRate = async (given: Load): Promise<number> => (await measureLoad(given)).rate;

/** Likewise, with times. */
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

/** The line `50%  812.00us` in milliseconds. */
function latencyMs(output: string, percent: number): number {
  const [, value, unit = ''] = new RegExp(`\\b${percent}%\\s+([\\d.]+)(us|ms|s)\\b`).exec(output) ?? [];
  return Number(value) * ({ us: 0.001, ms: 1, s: 1_000 }[unit] ?? Number.NaN);
}
