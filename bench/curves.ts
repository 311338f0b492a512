/** Measures the curves of the report: latency against load, and cost against the size of the state. */
import { startServer } from '../test/support/process/server.ts';
import { startBaseline } from './support/baseline-server.ts';
import type { Chart, Line } from './support/chart.ts';
import { residentBytes } from './support/resident-memory.ts';
import { createTokenDirectory } from './support/token-directory.ts';
import { type Load, measureLoad } from './support/wrk.ts';

/** Connections, each with one request in flight. */
const LOADS = [1, 4, 16, 64, 256] as const;
/** Numbers of rows. Each row is an ACL token with entries in three indexes. */
const SIZES = [1_000, 10_000, 100_000, 1_000_000] as const;
const SECONDS = 2;

const NEW_TOKEN = JSON.stringify({ Description: 'created by the benchmark', Grants: [] });

export async function latencyAgainstLoad(): Promise<Chart> {
  await using server = await startServer();
  const answer = await server.request('GET', '/v1/acl/token/self');
  await using baseline = await startBaseline(answer);
  const headers = { 'X-Service-Token': server.token };
  const lines: Line[] = [];
  for (const [name, request] of [
    ['bare node:http', { url: `${baseline.address}/`, headers }],
    ['GET token/self', { url: `${server.address}/v1/acl/token/self`, headers }],
    ['PUT token, durable', { url: `${server.address}/v1/acl/token`, method: 'PUT', headers, body: NEW_TOKEN }],
  ] as const) {
    lines.push(...(await latencies(name, request)));
  }
  return { title: 'Latency against load', x: 'connections, each with one request in flight', y: 'milliseconds', lines };
}

async function latencies(name: string, request: Pick<Load, 'url' | 'method' | 'headers' | 'body'>): Promise<Line[]> {
  const p50: [number, number][] = [];
  const p99: [number, number][] = [];
  for (const connections of LOADS) {
    const { p50Ms, p99Ms } = await measureLoad({ ...request, connections, seconds: SECONDS });
    p50.push([connections, p50Ms]);
    p99.push([connections, p99Ms]);
  }
  return [
    { name: `${name}, p50`, points: p50 },
    { name: `${name}, p99`, points: p99 },
  ];
}

/** Measures microseconds per request with 64 connections, and megabytes of memory. */
export async function costAgainstSize(): Promise<Chart> {
  const read: [number, number][] = [];
  const write: [number, number][] = [];
  const memory: [number, number][] = [];
  for (const size of SIZES) {
    await using data = await createTokenDirectory(size);
    await using server = await startServer({ dataDirectory: data.directory });
    const common = { headers: { 'X-Service-Token': server.token }, connections: 64, seconds: SECONDS };
    memory.push([size, residentBytes(server.process.pid ?? 0) / 1e6]);
    const reads = await measureLoad({ ...common, url: `${server.address}/v1/acl/token/${data.accessorId}` });
    const writes = await measureLoad({
      ...common,
      url: `${server.address}/v1/acl/token`,
      method: 'PUT',
      body: NEW_TOKEN,
    });
    read.push([size, 1e6 / reads.rate]);
    write.push([size, 1e6 / writes.rate]);
  }
  return {
    title: 'Cost against size',
    x: 'rows in the state',
    y: 'microseconds per request, MB of memory',
    lines: [
      { name: 'a read, µs', points: read },
      { name: 'a durable write, µs', points: write },
      { name: 'memory, MB', points: memory },
    ],
  };
}
