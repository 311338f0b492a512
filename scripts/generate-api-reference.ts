/**
 * Writes docs/api.md from the OpenAPI documents of a real server, which runs in a temporary directory. With `--check`,
 * only reports whether the page is up to date.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiReference, type Described } from './api-reference/page.ts';

const PAGE = new URL('../docs/api.md', import.meta.url);
const PROGRAM = new URL('../bin/accord.ts', import.meta.url);
/** Time limit for the start of the server, which takes about a second. */
const START_MS_MAX = 30_000;
const POLL_MS = 50;

const directory = await mkdtemp(join(tmpdir(), 'accord-api-'));
try {
  const page = await describe(directory);
  if (!process.argv.includes('--check')) await writeFile(PAGE, page);
  else if ((await readFile(PAGE, 'utf8').catch(() => '')) !== page) {
    console.error('docs/api.md is out of date: run npm run generate');
    process.exitCode = 1;
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}

async function describe(directory: string): Promise<string> {
  const settings = ['--http-address', '127.0.0.1:0', '--peering-address', '127.0.0.1:0', '--log-level', 'error'];
  const server = spawn(process.execPath, [PROGRAM.pathname, 'server', '--data-dir', directory, ...settings], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {},
  });
  try {
    const address = await addressOf(directory);
    return apiReference([
      {
        title: 'Peering, services, credentials: `/v1`',
        introduction:
          'JSON in, JSON out. A token goes into `X-Service-Token` or `Authorization: Bearer`; see [acl.md](acl.md).',
        described: await described(`${address}/v1/openapi.json`),
      },
      {
        title: 'Team access: `/api/v2`',
        introduction:
          'JSON:API (`application/vnd.api+json`). A token goes into `Authorization: Bearer`; see [team-access.md](team-access.md).',
        described: await described(`${address}/api/v2/openapi.json`),
      },
    ]);
  } finally {
    server.kill('SIGTERM');
    if (server.exitCode === null) await once(server, 'exit');
  }
}

/** Waits until the server is ready and returns its address, which it writes to the credentials file. */
async function addressOf(directory: string): Promise<string> {
  const end = Date.now() + START_MS_MAX;
  while (Date.now() < end) {
    const text = await readFile(join(directory, 'credentials.json'), 'utf8').catch(() => undefined);
    if (text !== undefined) {
      const { address } = JSON.parse(text) as { address: string };
      const answer = await fetch(`${address}/readyz`).catch(() => undefined);
      if (answer?.status === 200) return address;
    }
    await sleep(POLL_MS);
  }
  throw new Error(`no server within ${START_MS_MAX} ms`);
}

async function described(url: string): Promise<Described> {
  return (await (await fetch(url)).json()) as Described;
}
