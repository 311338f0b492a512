/**
 * What the documents have their reader type is tried: each `sh` block runs, in order, in one shell per document beside a
 * fresh server. A further document with commands is one more line here, and fails until it has one.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { startApi } from '../support/process/api.ts';
import { startServer } from '../support/process/server.ts';
import { skipWithout } from '../support/tools.ts';

interface Document {
  readonly file: string;
  /** Blocks that are not run, as they stand there: they install, or run for ever. */
  readonly notRun?: readonly string[];
  /** Blocks of one command that starts a server, besides all others: it is ended once it is ready. */
  readonly untilReady?: readonly string[];
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
  {
    file: 'docs/operations.md',
    untilReady: [
      'bin/accord server --data-dir restored-data --import-file state.jsonl --import-passphrase-file passphrase',
    ],
  },
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
      'npm start -- --data-dir west-data --http-address 127.0.0.1:8501 --peering-address 127.0.0.1:8504 --dns-address 127.0.0.1:8600 --acl-default-policy allow',
      EAST_START,
    ],
    servers: [
      {
        address: '127.0.0.1:8501',
        dataDirectory: 'west-data',
        settings: { 'acl.default-policy': 'allow' },
        dns: '@127.0.0.1 -p 8600',
      },
      EAST,
    ],
  },
  { file: 'docs/team-access.md' },
  {
    file: 'docs/soak.md',
    // They take minutes: test/soak.test.ts is a short one, and soak/command-line.test.ts reads these.
    notRun: ['npm run soak', 'npm run soak -- --minutes 60\nnpm run soak -- --minutes 2 --seed 7 --faults kill,cut'],
  },
];

/** Documents whose commands are not run at all, each with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'deploy/README.md':
    'needs systemd, Docker and a cluster; test/deploy.test.ts and test/package.test.ts try what they can',
};
/** Where documents are. */
const FOLDERS = ['.', 'docs', 'docs/decisions', 'deploy'];

const ROOT = path.resolve(import.meta.dirname, '../..');
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

/** Blocks of a kind that would go unnoticed, too, if it held commands. */
const blocksOfAnyKind = (text: string): [kind: string, block: string][] =>
  [...text.matchAll(/^```([a-z]*)\n(.*?)\n```$/gms)].map(([, kind = '', block = '']) => [kind, block]);
const isCommand = (line: string): boolean => /^([$#] )?(npm|npx|bin\/accord|accord|curl|dig) /.test(line);

test('every document with commands is tried, or has a reason why it is not', async () => {
  const listed = [...documents.map(({ file }) => file), ...Object.keys(NOT_RUN)];
  const found = await Promise.all(
    FOLDERS.map(async (folder) => (await readdir(path.join(ROOT, folder))).map((name) => path.join(folder, name))),
  );
  const withCommands: string[] = [];
  for (const file of found.flat().filter((name) => name.endsWith('.md'))) {
    const blocks = blocksOfAnyKind(await textOf(file));
    const hidden = blocks.filter(
      ([kind, block]) => !['sh', 'console'].includes(kind) && block.split('\n').some(isCommand),
    );
    assert.deepEqual(hidden, [], `${file}: commands are 'sh'`);
    if (blocks.some(([kind]) => kind === 'sh' || kind === 'console')) withCommands.push(file);
    const notInShell = blocks.filter(([kind]) => kind === 'console');
    assert.ok(notInShell.length === 0 || file in NOT_RUN, `${file}: a 'console' block is not run`);
  }
  assert.deepEqual(withCommands.toSorted(), listed.toSorted());
});

for (const { file, notRun = [], untilReady = [], servers = [] } of documents) {
  test(`${file}: every command works as it stands`, async () => {
    const all = blocksOf(await textOf(file));
    for (const block of [...notRun, ...untilReady])
      assert.ok(all.includes(block), `${file} has no block ${JSON.stringify(block)}`);
    const withoutDig = skipWithout('dig') !== false;
    const blocks = all.filter((block) => !notRun.includes(block) && !(withoutDig && block.startsWith('dig ')));
    assert.ok(blocks.length > 0);

    // The reader stands in the repository, whose server has its data directory there.
    const folder = await mkdtemp(path.join(tmpdir(), 'accord-docs-'));
    try {
      for (const name of REPOSITORY) await symlink(path.join(ROOT, name), path.join(folder, name));
      const steps = blocks.map(
        (block, i) =>
          `echo "# block ${i + 1} of ${blocks.length}"\n${untilReady.includes(block) ? served(block) : block}\n`,
      );
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
      await assertNothingSecretIsLeft(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** What the reader stands beside. */
const REPOSITORY = ['bin', 'node_modules', 'package.json', 'scripts', 'soak'];

/** Runs a server on ports of its own until it is ready; whatever happens, it is not left running. */
const served = (command: string): string => `
  trap 'kill $(jobs -p) || true' EXIT
  (export ACCORD_HTTP_ADDRESS=127.0.0.1:0 ACCORD_PEERING_ADDRESS=127.0.0.1:0; exec ${command}) > served.log 2>&1 &
  until grep --quiet '"msg":"ready"' served.log; do kill -0 $! || { cat served.log; exit 1; }; sleep 0.1; done
  kill $! && wait $!
  trap - EXIT
  rm served.log
`;

/** Of what a document has made, only settings and requests may slip into a commit: files that hold no secret. */
async function assertNothingSecretIsLeft(folder: string): Promise<void> {
  if (!existsSync(path.join(ROOT, '.git'))) return;
  const entries = await readdir(folder, { withFileTypes: true });
  const made = entries.filter(({ name }) => !REPOSITORY.includes(name) && !/\.(json|yaml)$/.test(name));
  const names = made.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  const { stdout } = spawnSync('git', ['check-ignore', '--stdin'], {
    cwd: ROOT,
    input: names.join('\n'),
    encoding: 'utf8',
  });
  const ignored = stdout.trim().split('\n');
  assert.deepEqual(
    names.filter((name) => !ignored.includes(name)),
    [],
    'what .gitignore lacks',
  );
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
