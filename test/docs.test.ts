/**
 * What the documents say is tried: each `sh` block runs, in order, in one shell per document beside a fresh server, and
 * the tables of endpoints and errors are compared with the code. A further document is one more line.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { serviceErrorCodes, statusOf } from '../src/http/errors.ts';
import { faultCodes, faultOf } from '../src/peering/check/faults.ts';
import { faultCodes as refusalCodes, faultOf as refusalOf } from '../src/team-access/jsonapi/errors.ts';
import { startApi } from './support/api.ts';
import { freePort } from './support/free-port.ts';
import { startServer } from './support/server.ts';
import { skipWithout } from './support/tools.ts';

interface Document {
  readonly file: string;
  /** Blocks that are not run, as they stand there: they install, or run for ever. */
  readonly notRun?: readonly string[];
  /** Servers that it starts in such blocks, besides the one at the default address. */
  readonly servers?: readonly DocumentedServer[];
}

/** A server as a document has it. */
interface DocumentedServer {
  readonly address: string;
  readonly dataDirectory: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** How dig is told where it answers over DNS. */
  readonly dns?: string;
}

const EAST_START =
  'npm start -- --data-dir east-data --http-address 127.0.0.1:8510 --peering-address 127.0.0.1:8513 --cluster-datacenter dc2';
const EAST: DocumentedServer = {
  address: '127.0.0.1:8510',
  dataDirectory: 'east-data',
  settings: { 'cluster.datacenter': 'dc2' },
};

const documents: readonly Document[] = [
  { file: 'README.md', notRun: ['npm ci\nnpm start', 'npm test'] },
  { file: 'docs/getting-started.md', notRun: ['npm ci\nnpm start', EAST_START], servers: [EAST] },
  { file: 'docs/monitoring.md' },
  { file: 'docs/operations.md' },
  { file: 'docs/acl.md' },
  { file: 'docs/certificates.md' },
  {
    file: 'docs/peering.md',
    notRun: ['npm start', EAST_START],
    servers: [EAST],
  },
  {
    file: 'docs/services.md',
    notRun: [
      'npm start -- --dns-address 127.0.0.1:8600 --acl-default-policy allow --data-dir dns-data --http-address 127.0.0.1:8501 --peering-address 127.0.0.1:8504',
      EAST_START,
    ],
    servers: [
      {
        address: '127.0.0.1:8501',
        dataDirectory: 'dns-data',
        settings: { 'acl.default-policy': 'allow' },
        dns: '@127.0.0.1 -p 8600',
      },
      EAST,
    ],
  },
  { file: 'docs/team-access.md' },
];

/** Endpoints that stand in documents of their own. */
const ENDPOINTS_ELSEWHERE = ['/v1/peering', '/v1/operator/ca'];
/** Those of docs/services.md. */
const SERVICE_ENDPOINTS = [
  ...['/v1/catalog', '/v1/health', '/v1/agent'],
  ...['/v1/config', '/v1/exported-services', '/v1/imported-services', '/v1/connect'],
];

const ROOT = path.resolve(import.meta.dirname, '..');
/** What `npm start` starts, where the reader stands. */
const DEFAULT_SERVER: DocumentedServer = {
  address: '127.0.0.1:8500',
  dataDirectory: 'accord-data',
  // Nobody types as fast as the script on an idle machine.
  settings: { 'team-access.rate-limit': '1000' },
};
/** A document is some seconds of requests, more on a busy machine; one that waits for ever is wrong. */
const DOCUMENT_MS_MAX = 120_000;

/** Stops at the first command that fails; a refusal of the server is a failure of curl, and finding nothing one of dig. */
const PRELUDE = `set -euo pipefail
curl() { command curl --silent --show-error --fail-with-body --max-time 20 "$@"; }
dig() { local found; found=$(command dig +tries=2 "$@"); echo "$found"; grep --quiet 'ANSWER: [1-9]' <<< "$found"; }
`;

const textOf = (file: string): Promise<string> => readFile(path.join(ROOT, file), 'utf8');

const blocksOf = (text: string): string[] =>
  [...text.matchAll(/^```sh\n(.*?)\n```$/gms)].map(([, block = '']) => block);

for (const { file, notRun = [], servers = [] } of documents) {
  test(`${file}: every command works as it stands`, async () => {
    const all = blocksOf(await textOf(file));
    for (const block of notRun) assert.ok(all.includes(block), `${file} has no block ${JSON.stringify(block)}`);
    const withoutDig = skipWithout('dig') !== false;
    const blocks = all.filter((block) => !notRun.includes(block) && !(withoutDig && block.startsWith('dig ')));
    assert.ok(blocks.length > 0);

    // The reader stands in the repository, whose server has its data directory there.
    const folder = await mkdtemp(path.join(tmpdir(), 'accord-docs-'));
    try {
      for (const name of ['bin', 'node_modules']) await symlink(path.join(ROOT, name), path.join(folder, name));
      const steps = blocks.map((block, i) => `echo "# block ${i + 1} of ${blocks.length}"\n${block}\n`);
      let script = PRELUDE + steps.join('');
      await using running = new AsyncDisposableStack();
      for (const { address, dataDirectory: name, settings = {}, dns } of [DEFAULT_SERVER, ...servers]) {
        const dataDirectory = path.join(folder, name);
        await mkdir(dataDirectory);
        const dnsPort = dns === undefined ? undefined : await freePort();
        const dnsSettings = dnsPort === undefined ? {} : { 'dns.address': `127.0.0.1:${dnsPort}` };
        const server = running.use(await startServer({ dataDirectory, settings: { ...settings, ...dnsSettings } }));
        script = script.replaceAll(address, server.address.replace('http://', ''));
        if (dns !== undefined) script = script.replaceAll(dns, `@127.0.0.1 -p ${dnsPort}`);
      }
      const { code, output } = await runScript(script, folder);
      assert.equal(code, 0, `${file} stops in the last of these:\n${output}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

test('a command that the server refuses, or that is not there, stops its document', async () => {
  await using api = await startApi();
  for (const block of [
    `curl ${api.address}/v1/partitions`,
    `curl ${api.address}/v1/partitions | cat`,
    'no-such-command',
  ]) {
    const { code, output } = await runScript(`${PRELUDE}echo begun\n${block}\necho done\n`, tmpdir());
    assert.notEqual(code, 0);
    assert.match(output, /begun/);
    assert.doesNotMatch(output, /done/);
  }
});

function runScript(script: string, cwd: string): Promise<{ readonly code: number | string; readonly output: string }> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ACCORD_')));
  return new Promise((resolve) => {
    execFile('bash', ['-c', script], { cwd, env, timeout: DOCUMENT_MS_MAX }, (error, stdout, stderr) => {
      resolve({
        code: error === null ? 0 : (error.code ?? `killed by ${error.signal}`),
        output: `${stdout}\n${stderr}`,
      });
    });
  });
}

describe('docs/errors.md', () => {
  test('has every error code of /v1 with its status, and no other', async () => {
    const rows = (await textOf('docs/errors.md')).matchAll(/^\| `([a-z-]+)` \| (\d{3}) \| [^|]+ \| [^|]+ \|$/gm);
    const documented = [...rows].map(([, code, status]) => `${code} ${status}`);
    const real = serviceErrorCodes.map((code) => `${code} ${statusOf(code)}`);
    assert.deepEqual(documented.toSorted(), real.toSorted());
  });

  test('has every error of team access with its status and meaning, and no other', async () => {
    const rows = (await textOf('docs/errors.md')).matchAll(/^\| (\d{3}) \| `([a-z ]+)` \| ([^|]+) \| [^|]+ \|$/gm);
    const documented = [...rows].map(([, status, title, meaning]) => ({ status: Number(status), title, meaning }));
    assert.deepEqual(documented, refusalCodes.map(refusalOf));
  });
});

describe('docs/acl.md', () => {
  test('has every endpoint of credentials and audit, and no other', async () => {
    const elsewhere = [...ENDPOINTS_ELSEWHERE, ...SERVICE_ENDPOINTS];
    const isElsewhere = (at: string): boolean => elsewhere.some((prefix) => at.startsWith(prefix));
    await compareEndpoints('docs/acl.md', (at) => at.startsWith('/v1/') && !isElsewhere(at));
  });
});

describe('docs/peering.md', () => {
  test('has every endpoint of peerings, and no other', async () => {
    await compareEndpoints('docs/peering.md', (at) => at.startsWith('/v1/peering'));
  });

  test('has everything that a connection check can find, and no other', async () => {
    const rows = (await textOf('docs/peering.md')).matchAll(/^\| `([a-z-]+)` \| `([a-z0-9-]+)` \| (.+) \| (.+) \|$/gm);
    const documented = [...rows].map(([, id, code, cause, mend]) => ({ id, code, cause, mend }));
    const real = faultCodes.map((code) => {
      const { id, cause, mend } = faultOf(code);
      return { id, code, cause, mend };
    });
    assert.deepEqual(documented, real);
  });
});

describe('docs/services.md', () => {
  test('has every endpoint of services, and no other', async () => {
    await compareEndpoints('docs/services.md', (at) => SERVICE_ENDPOINTS.some((prefix) => at.startsWith(prefix)));
  });
});

describe('docs/team-access.md', () => {
  test('has every endpoint of team access, and no other', async () => {
    await compareEndpoints('docs/team-access.md', (at) => at.startsWith('/api/v2/'));
  });
});

describe('docs/monitoring.md', () => {
  test('has every metric of Accord, and no other; the alerts use no other', async () => {
    const real = await metricNames();
    const table = [...(await textOf('docs/monitoring.md')).matchAll(/^\| (`accord_.*?) \| [^|]+ \|$/gm)].join(' ');
    assert.deepEqual(namesIn(table), real);
    const { groups } = parse(await textOf('deploy/prometheus/accord.rules.yaml')) as AlertRules;
    for (const { alert, expr } of groups.flatMap(({ rules }) => rules)) {
      for (const name of namesIn(expr)) assert.ok(real.includes(name), `${alert} uses ${name}`);
    }
  });
});

interface AlertRules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

const namesIn = (text: string): string[] => [...new Set(text.match(/\baccord_\w+/g))].toSorted();

/** Those of a server with everything on, to who may read the names of peerings. */
async function metricNames(): Promise<string[]> {
  await using server = await startServer({ settings: { 'dns.address': '127.0.0.1:0' } });
  const { text } = await server.request('GET', '/metrics');
  return [...new Set([...text.matchAll(/^# TYPE (accord_\w+)/gm)].map(([, name = '']) => name))].toSorted();
}

/** Compares a document's table of endpoints with the server's, as far as they are the document's to show. */
async function compareEndpoints(file: string, isShown: (path: string) => boolean): Promise<void> {
  const rows = (await textOf(file)).matchAll(/^\| `([A-Z]+ \/(?:v1|api\/v2)\/[^`]+)` \| [^|]* \| [^|]+ \|$/gm);
  const documented = [...rows].map(([, endpoint]) => endpoint);
  await using api = await startApi();
  const shown = api.server.endpoints.filter(({ path: at }) => isShown(at));
  assert.deepEqual(documented.toSorted(), shown.map(({ method, path: at }) => `${method} ${at}`).toSorted());
}
