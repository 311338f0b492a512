/** Fills servers with small heaps and in small containers, and requests every list: 507 and 503, and no crash. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { createTokenDirectory } from '../../bench/support/token-directory.ts';
import { planMemory } from '../../src/main/memory-plan.ts';
import { MEBIBYTE, TOKEN_BYTES } from '../support/process/heap-size.ts';
import { type Server, type ServerOptions, startServer } from '../support/process/server.ts';

const WRITERS = 20;
const READERS = 4;
const WRITES_MAX = 200_000;

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

interface Write {
  readonly path: string;
  readonly body: object;
}

/** Rows that callers can make, by what fills the memory. */
const KINDS: Readonly<Record<string, (i: number) => Write>> = {
  'tokens of common size': (i) => ({ path: '/v1/acl/token', body: { Description: `${i}`.padEnd(200, 'x') } }),
  'large tokens': (i) => {
    const grant = (k: number) => ({
      Resource: 'services',
      Access: 'read',
      Names: times(20, (m) => `n-${i}-${k}-${m}`),
    });
    return { path: '/v1/acl/token', body: { Description: `${i}`, Grants: times(60, grant) } };
  },
  'services with names of their own in Meta': (i) => {
    const meta = Object.fromEntries(times(60, (k) => [`k${i}_${k}`, `v${k}`]));
    const service = { Service: `s${i}`, Port: 80, Meta: meta, Tags: times(60, (k) => `t${i}_${k}`) };
    return {
      path: '/v1/catalog/register',
      body: { Node: `n${i}`, Address: '10.0.0.1', NodeMeta: meta, Service: service },
    };
  },
};

/** Writes rows until the server has rejected one from each writer. @returns the number of rows */
async function fill(server: Server, write: (i: number) => Write): Promise<number> {
  let next = 0;
  const writeUntilFull = async (): Promise<void> => {
    while (next < WRITES_MAX) {
      const { path: target, body } = write(next++);
      const { status, text } = await server.request('PUT', target, { body });
      if (status === 507) return;
      assert.equal(status, 200, text);
    }
    assert.fail(`not full after ${WRITES_MAX} rows`);
  };
  await Promise.all(times(WRITERS, writeUntilFull));
  return next;
}

/** Requests every list several times at once: plain, indented, compressed, and in large pages. */
async function requestEveryList(server: Server): Promise<void> {
  const { paths } = (await server.request('GET', '/v1/openapi.json')).json<{ paths: Record<string, object> }>();
  const lists = Object.entries(paths).flatMap(([route, methods]) =>
    'get' in methods && !route.includes('{') ? route : [],
  );
  assert.ok(lists.length > 15, lists.join(' '));
  for (const list of lists) {
    for (const query of ['', '?pretty', '?limit=1000000', '?limit=5000']) {
      const compressed = { headers: { 'accept-encoding': 'gzip' } };
      const requests = times(READERS, (i) => server.request('GET', `${list}${query}`, i % 2 === 0 ? {} : compressed));
      for (const { status, text } of await Promise.all(requests)) {
        assert.ok(status < 500 || status === 503 || status === 501, `${list}${query}: ${status} ${text.slice(0, 200)}`);
      }
    }
  }
}

/** Fills a server, and checks that it survives its largest responses, rejects rows, and starts again. */
async function fillAndRead(options: ServerOptions, write: (i: number) => Write): Promise<void> {
  await using server = await startServer(options);
  await fill(server, write);
  await requestEveryList(server);
  const { path: target, body } = write(WRITES_MAX + 1);
  assert.equal((await server.request('PUT', target, { body })).status, 507);
  const { token } = server;
  assert.equal(await server.stop(), 0, server.log().slice(-2_000));
  await using again = await startServer({ ...options, dataDirectory: server.dataDirectory });
  assert.equal((await again.request('GET', '/v1/acl/token/self', { token })).status < 500, true);
  assert.equal(await again.stop(), 0);
}

describe('a server with a small heap', { timeout: 3_600_000 }, () => {
  for (const mebibytes of [64, 128, 320, 640]) {
    for (const [kind, write] of Object.entries(KINDS)) {
      test(`of ${mebibytes} MiB survives ${kind} and every list [SRV-30]`, async () => {
        const isSmall = kind === 'tokens of common size';
        const { rows } = planMemory({ oldGenerationBytes: mebibytes * MEBIBYTE, sharedStore: false });
        await using filled = await createTokenDirectory(
          isSmall ? Math.floor((0.97 * rows.bytesMax) / TOKEN_BYTES) : 10,
        );
        const environment = { NODE_OPTIONS: `--max-old-space-size=${mebibytes}` };
        await fillAndRead({ dataDirectory: filled.directory, environment }, write);
      });
    }
  }
});

const CGROUPS = '/sys/fs/cgroup/memory';

/** A memory control group of the first version, in which a process is killed when it exceeds the limit. */
class ControlGroup implements Disposable {
  readonly #folder = path.join(CGROUPS, `accord-test-${process.pid}`);

  constructor(mebibytes: number) {
    mkdirSync(this.#folder);
    writeFileSync(path.join(this.#folder, 'memory.limit_in_bytes'), String(mebibytes * MEBIBYTE));
  }

  /** The command that runs a program in the group. */
  get command(): readonly string[] {
    return ['sh', '-c', `echo $$ > ${this.#folder}/cgroup.procs && exec "$@"`, 'sh'];
  }

  get killed(): number {
    const control = readFileSync(path.join(this.#folder, 'memory.oom_control'), 'utf8');
    return Number(/oom_kill (\d+)/.exec(control)?.[1]);
  }

  [Symbol.dispose](): void {
    rmdirSync(this.#folder);
  }
}

function missingControlGroups(): string | false {
  try {
    new ControlGroup(256)[Symbol.dispose]();
    return false;
  } catch (error) {
    return `memory control groups of version 1 cannot be created here: ${String(error)}`;
  }
}

describe('a server in a small container', { timeout: 3_600_000, skip: missingControlGroups() }, () => {
  for (const mebibytes of [192, 256, 512]) {
    for (const [kind, write] of Object.entries(KINDS)) {
      test(`of ${mebibytes} MiB is not killed by ${kind} and every list [SRV-30]`, async () => {
        using group = new ControlGroup(mebibytes);
        await using filled = await createTokenDirectory(10);
        await fillAndRead({ dataDirectory: filled.directory, commandPrefix: group.command }, write);
        assert.equal(group.killed, 0);
      });
    }
  }
});
