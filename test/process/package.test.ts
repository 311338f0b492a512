/** The package as npm packs it: what is in it, and that it runs where nothing else of this repository is. */
import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** What npm needs to build and pack: building in the repository itself would take `dist` from under somebody else. */
const SOURCES = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'bin', 'src', 'docs', 'deploy'];
const TEXTS = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'ROADMAP.md'];
const READY_MS_MAX = 60_000;

/** Programs of this repository first, the Node.js that it brings among them. */
const searchPath = [join(ROOT, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);

function run(command: string, args: readonly string[], cwd: string): SpawnSyncReturns<string> {
  return spawnSync(command, args, { cwd, encoding: 'utf8', env: { ...process.env, PATH: searchPath } });
}

/** The first Node.js on this machine that is too old, if there is one. */
const tooOld = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .find((node) => Number(/^v(\d+)/.exec(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1]) < 26);

/** Packages that are not for development alone, as the lock file has them. */
async function dependenciesInstalled(): Promise<readonly string[]> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
  return Object.entries<{ readonly dev?: true }>(packages)
    .filter(([, { dev }]) => dev !== true)
    .map(([place]) => /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(place)?.[1])
    .filter((name) => name !== undefined);
}

/** Where a document leads to in its own tree, without what is named there. */
const linksIn = (text: string): readonly string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link.replace(/#.*$/, ''))
    .filter((link) => link !== '' && !/^[a-z]+:/.test(link));

describe('the package', () => {
  let folder: TemporaryDirectory;
  /** An empty folder, but for what `npm install` of the package puts there. */
  let home = '';
  let program = '';
  let files: readonly string[] = [];

  before(async () => {
    folder = await temporaryDirectory();
    const source = join(folder.path, 'source');
    home = join(folder.path, 'home');
    for (const name of [...SOURCES, ...TEXTS]) await cp(join(ROOT, name), join(source, name), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(source, 'node_modules'));
    // Types are checked by `npm run check`, and take most of the time that a build takes.
    const buildSettings = JSON.parse(await readFile(join(source, 'tsconfig.build.json'), 'utf8'));
    buildSettings.compilerOptions.noCheck = true;
    await writeFile(join(source, 'tsconfig.build.json'), JSON.stringify(buildSettings));
    const packed = run('npm', ['pack', '--pack-destination', folder.path, '--offline'], source);
    assert.equal(packed.status, 0, packed.stderr + packed.stdout);

    // As npm installs it, without asking a registry for what is here already: the package, and what it depends on.
    const modules = join(home, 'node_modules');
    await mkdir(join(modules, '.bin'), { recursive: true });
    for (const name of await dependenciesInstalled()) {
      await mkdir(dirname(join(modules, name)), { recursive: true });
      await symlink(join(ROOT, 'node_modules', name), join(modules, name));
    }
    const archive = packed.stdout.trim().split('\n').at(-1) ?? '';
    const installed = join(modules, 'accord');
    await mkdir(installed);
    const unpacked = run('tar', ['-xzf', join(folder.path, archive), '-C', installed, '--strip-components=1'], home);
    assert.equal(unpacked.status, 0, unpacked.stderr);
    const { bin } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    program = join(installed, bin.accord);
    await chmod(program, 0o755);
    await symlink(program, join(modules, '.bin', 'accord'));
    files = await readdir(installed, { recursive: true });
  });
  after(() => folder[Symbol.asyncDispose]());

  test('has the program, its licence and its documents', () => {
    for (const name of ['dist/bin/accord.js', 'dist/src/main.js', 'docs/settings.md', 'package.json', ...TEXTS]) {
      assert.ok(files.includes(name), name);
    }
  });

  test('has no tests, no sources, and no folder of anybody who built it', () => {
    const roots = new Set(files.map((name) => name.split('/')[0]));
    assert.deepEqual([...roots].sort(), [...TEXTS, 'deploy', 'dist', 'docs', 'package.json'].sort());
    const unwanted = files.filter((name) =>
      /\.ts$|\.(test|suite|long)\.|(^|\/)(test|rig)\b|accord-data|credentials\.json/.test(name),
    );
    assert.deepEqual(unwanted, []);
  });

  test('has everything that its documents lead to', async () => {
    const installed = join(home, 'node_modules', 'accord');
    const documents = files.filter((name) => name.endsWith('.md'));
    assert.ok(documents.includes('README.md') && documents.includes('deploy/README.md'));
    const dead: string[] = [];
    for (const document of documents) {
      for (const link of linksIn(await readFile(join(installed, document), 'utf8'))) {
        if (!existsSync(join(installed, dirname(document), link))) dead.push(`${document}: ${link}`);
      }
    }
    assert.deepEqual(dead, []);
  });

  test('tells who has it from the package how its commands are written there', async () => {
    for (const name of ['README.md', 'docs/getting-started.md']) {
      const text = await readFile(join(home, 'node_modules', 'accord', name), 'utf8');
      assert.match(text, /From the package.*`npx accord` (stands )?for `bin\/accord`/s, name);
    }
  });

  test("is published nowhere by mistake, where its name is somebody else's", async () => {
    const { private: isPrivate } = JSON.parse(await readFile(join(home, 'node_modules/accord/package.json'), 'utf8'));
    assert.equal(isPrivate, true);
  });

  test('asks for the Node.js that it needs, and brings none', async () => {
    const { engines, dependencies, version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    assert.deepEqual([engines, dependencies.node], [{ node: '>=26' }, undefined]);
    const { stdout, stderr } = run('npx', ['--offline', 'accord', 'version'], home);
    assert.equal(stdout, `accord ${version}\n`, stderr);
  });

  test('says in one line that Node.js is too old', { skip: tooOld === undefined && 'no old Node.js is here' }, () => {
    const { status, stdout, stderr } = run(tooOld ?? '', [program, 'server'], home);
    assert.deepEqual([status, stdout], [2, '']);
    assert.match(stderr, /^accord: Node\.js 26 or later is needed; this is \d+\.\d+\.\d+\n$/);
  });

  test('starts a server in an empty folder, which answers and stops', async () => {
    const server = spawn(
      process.execPath,
      [program, 'server', '--http-address', '127.0.0.1:0', '--peering-address', '127.0.0.1:0'],
      {
        cwd: home,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let output = '';
    for (const stream of [server.stdout, server.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const closed = once(server, 'close');
    try {
      const isReady = (): boolean => output.includes('"msg":"ready"') || server.exitCode !== null;
      await until('the server is ready', isReady, READY_MS_MAX);
      const status = run('npx', ['--offline', 'accord', 'status'], home);
      assert.match(status.stdout, /^Ready +yes$/m, output + status.stderr);
    } finally {
      server.kill('SIGTERM');
      await closed;
    }
    assert.equal(server.exitCode, 0, output);
    const { mode } = await stat(join(home, 'accord-data/credentials.json'));
    assert.equal(mode & 0o777, 0o600);
  });
});
