/**
 * Runs the commands of the documents. The `sh` blocks of a document run in order in one shell, next to a new server. A
 * document with commands that is not listed here fails the first test.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { peeringChapters } from '../../demo/peering-chapters.ts';
import { teamAccessChapters } from '../../demo/team-access-chapters.ts';
import { freePort } from '../support/free-port.ts';
import { startApi } from '../support/process/api.ts';
import { startServer } from '../support/process/server.ts';
import { skipWithout } from '../support/tools.ts';

interface Document {
  readonly file: string;
  /** Settings of the server at the default address. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The texts of blocks that are not run, because they install something or do not end. */
  readonly notRun?: readonly string[];
  /** The texts of blocks with one command that starts another server. The test stops that server when it is ready. */
  readonly untilReady?: readonly string[];
  /** Further servers that the document starts, in `notRun` blocks. The test starts them itself. */
  readonly servers?: readonly DocumentedServer[];
}

/** A server that a document starts. The test starts it on other ports and replaces the addresses in the commands. */
interface DocumentedServer {
  readonly address: string;
  readonly dataDirectory: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** The arguments of `dig` with the DNS address. */
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
  { file: 'docs/logs.md', notRun: ['bin/accord server --log-format json --log-level info'] },
  { file: 'docs/security.md' },
  { file: 'docs/troubleshooting.md' },
  {
    file: 'docs/operations.md',
    notRun: [
      'bin/accord server --store etcd --etcd-endpoints http://a:2379,http://b:2379,http://c:2379 --node-name accord-1',
      'bin/accord server --recover',
    ],
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
  { file: 'docs/from-consul.md', settings: { compat: 'consul' }, notRun: ['npm start -- --compat consul'] },
  {
    file: 'docs/from-hcp-terraform.md',
    settings: { compat: 'terraform' },
    notRun: ['npm start -- --compat terraform'],
  },
  {
    file: 'docs/soak.md',
    // They take minutes. test/process/soak.test.ts runs a short soak; soak/command-line.test.ts parses these commands.
    notRun: ['npm run soak', 'npm run soak -- --minutes 60\nnpm run soak -- --minutes 2 --seed 7 --faults kill,cut'],
  },
];

/** Documents whose commands are not run at all, with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'deploy/README.md':
    'needs systemd, Docker and a cluster; deploy.test.ts and package.test.ts in test/process cover parts of it',
};
/** The folders that contain documents. */
const FOLDERS = ['.', 'docs', 'docs/decisions', 'deploy'];

const ROOT = path.resolve(import.meta.dirname, '../..');
/** The server that `npm start` starts. */
const DEFAULT_SERVER: DocumentedServer = {
  address: '127.0.0.1:8500',
  dataDirectory: 'accord-data',
  // The script sends requests faster than a reader would.
  settings: { 'team-access.rate-limit': '1000' },
};
/** Timeout for a document. An idle machine needs seconds. */
const DOCUMENT_MS_MAX = 120_000;

/** Stops at the first failing command. `curl` fails on an error status, and `dig` on a response without records. */
const PRELUDE = `set -euo pipefail
curl() { command curl --silent --show-error --fail-with-body --max-time 20 "$@"; }
dig() { local found; found=$(command dig +tries=2 "$@"); echo "$found"; grep --quiet 'ANSWER: [1-9]' <<< "$found"; }
`;

const textOf = (file: string): Promise<string> => readFile(path.join(ROOT, file), 'utf8');

const blocksOf = (text: string): string[] =>
  [...text.matchAll(/^```sh\n(.*?)\n```$/gms)].map(([, block = '']) => block);

/** Returns the blocks in any language, to find commands in blocks that would not be run. */
const blocksOfAnyKind = (text: string): [kind: string, block: string][] =>
  [...text.matchAll(/^```([a-z]*)\n(.*?)\n```$/gms)].map(([, kind = '', block = '']) => [kind, block]);
/** The commands of the demo, which test/process/demo.test.ts runs. */
const demoCommands = [...peeringChapters(true), ...teamAccessChapters].flatMap(({ steps }) =>
  steps.map(({ command }) => command.replaceAll(/\s+/g, ' ')),
);
/** Whether a command is a line of a demo excerpt: a prompt and a command of the demo. */
const isDemoCommand = (line: string): boolean =>
  line.startsWith('$ ') && demoCommands.some((command) => command.includes(line.slice('$ '.length)));
const isCommand = (line: string): boolean => /^([$#] )?(npm|npx|bin\/accord|accord|curl|dig) /.test(line);

test('every document with commands is run or has a reason not to be', async () => {
  const listed = [...documents.map(({ file }) => file), ...Object.keys(NOT_RUN)];
  const found = await Promise.all(
    FOLDERS.map(async (folder) => (await readdir(path.join(ROOT, folder))).map((name) => path.join(folder, name))),
  );
  const withCommands: string[] = [];
  for (const file of found.flat().filter((name) => name.endsWith('.md'))) {
    const blocks = blocksOfAnyKind(await textOf(file));
    const hidden = blocks.filter(
      ([kind, block]) =>
        !['sh', 'console'].includes(kind) && block.split('\n').some((line) => isCommand(line) && !isDemoCommand(line)),
    );
    assert.deepEqual(hidden, [], `${file}: commands must be in an 'sh' block or in an excerpt of the demo`);
    if (blocks.some(([kind]) => kind === 'sh' || kind === 'console')) withCommands.push(file);
    const notInShell = blocks.filter(([kind]) => kind === 'console');
    assert.ok(notInShell.length === 0 || file in NOT_RUN, `${file}: a 'console' block is not run`);
  }
  assert.deepEqual(withCommands.toSorted(), listed.toSorted());
});

for (const { file, settings: ownSettings, notRun = [], untilReady = [], servers = [] } of documents) {
  test(`every command in ${file} succeeds`, async () => {
    const all = blocksOf(await textOf(file));
    for (const block of [...notRun, ...untilReady])
      assert.ok(all.includes(block), `${file} has no block ${JSON.stringify(block)}`);
    const withoutDig = skipWithout('dig') !== false;
    const blocks = all.filter((block) => !notRun.includes(block) && !(withoutDig && block.startsWith('dig ')));
    assert.ok(blocks.length > 0);

    // The reader's working directory is the repository, which also contains the data directory of the server.
    const folder = await mkdtemp(path.join(tmpdir(), 'accord-docs-'));
    try {
      for (const name of REPOSITORY) await symlink(path.join(ROOT, name), path.join(folder, name));
      const steps = blocks.map(
        (block, i) =>
          `echo "# block ${i + 1} of ${blocks.length}"\n${untilReady.includes(block) ? startAndStop(block) : block}\n`,
      );
      let script = PRELUDE + steps.join('');
      await using running = new AsyncDisposableStack();
      const defaultServer = { ...DEFAULT_SERVER, settings: { ...DEFAULT_SERVER.settings, ...ownSettings } };
      for (const { address, dataDirectory: name, settings = {}, dns } of [defaultServer, ...servers]) {
        const dataDirectory = path.join(folder, name);
        await mkdir(dataDirectory);
        const dnsPort = dns === undefined ? undefined : await freePort();
        const dnsSettings = dnsPort === undefined ? {} : { 'dns.address': `127.0.0.1:${dnsPort}` };
        const server = running.use(await startServer({ dataDirectory, settings: { ...settings, ...dnsSettings } }));
        script = script.replaceAll(address, server.address.replace('http://', ''));
        if (dns !== undefined) script = script.replaceAll(dns, `@127.0.0.1 -p ${dnsPort}`);
      }
      const { code, output } = await runScript(script, folder);
      assert.equal(code, 0, `${file} fails in the last of these blocks:\n${output}`);
      await assertSecretsAreIgnored(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** The entries of the repository that commands use. */
const REPOSITORY = ['bin', 'node_modules', 'package.json', 'scripts', 'soak'];

/** Returns a script that starts a server on free ports and stops it when it is ready. It also stops it on failure. */
const startAndStop = (command: string): string => `
  trap 'kill $(jobs -p) || true' EXIT
  (export ACCORD_HTTP_ADDRESS=127.0.0.1:0 ACCORD_PEERING_ADDRESS=127.0.0.1:0; exec ${command}) > served.log 2>&1 &
  until grep --quiet '"msg":"ready"' served.log; do kill -0 $! || { cat served.log; exit 1; }; sleep 0.1; done
  kill $! && wait $!
  trap - EXIT
  rm served.log
`;

/** Asserts that git ignores every file that a document creates, except JSON and YAML files, which contain no secret. */
async function assertSecretsAreIgnored(folder: string): Promise<void> {
  if (!existsSync(path.join(ROOT, '.git'))) return;
  const entries = await readdir(folder, { withFileTypes: true });
  const created = entries.filter(({ name }) => !REPOSITORY.includes(name) && !/\.(json|yaml)$/.test(name));
  const names = created.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  const { stdout } = spawnSync('git', ['check-ignore', '--stdin'], {
    cwd: ROOT,
    input: names.join('\n'),
    encoding: 'utf8',
  });
  const ignored = stdout.trim().split('\n');
  assert.deepEqual(
    names.filter((name) => !ignored.includes(name)),
    [],
    '.gitignore does not list these',
  );
}

test('a rejected request or a missing command ends the script of a document', async () => {
  await using api = await startApi();
  for (const block of [
    `curl ${api.address}/v1/partitions`,
    `curl ${api.address}/v1/partitions | cat`,
    'no-such-command',
  ]) {
    const { code, output } = await runScript(`${PRELUDE}echo started\n${block}\necho done\n`, tmpdir());
    assert.notEqual(code, 0);
    assert.match(output, /started/);
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
