/** The npm package: its files, and that it runs without the rest of the repository. */
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
/** The files that npm needs to pack. The test copies them, because a build in the repository would replace `dist`. */
const SOURCES = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'bin', 'src', 'docs', 'deploy'];
const TEXTS = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'ROADMAP.md'];
const READY_MS_MAX = 60_000;

/** The PATH with the programs of this repository first, including its Node.js. */
const searchPath = [join(ROOT, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);

function run(command: string, args: readonly string[], cwd: string): SpawnSyncReturns<string> {
  return spawnSync(command, args, { cwd, encoding: 'utf8', env: { ...process.env, PATH: searchPath } });
}

/** The first Node.js on the PATH that is too old. */
const oldNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .find((node) => Number(/^v(\d+)/.exec(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1]) < 26);

/** Returns the production dependencies in the lock file. */
async function productionDependencies(): Promise<readonly string[]> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
  return Object.entries<{ readonly dev?: true }>(packages)
    .filter(([, { dev }]) => dev !== true)
    .map(([place]) => /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(place)?.[1])
    .filter((name) => name !== undefined);
}

/** Returns the relative links of a document, without fragments. */
const linksIn = (text: string): readonly string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link.replace(/#.*$/, ''))
    .filter((link) => link !== '' && !/^[a-z]+:/.test(link));

describe('the package', () => {
  let folder: TemporaryDirectory;
  /** A folder that contains only what `npm install` of the package creates. */
  let home = '';
  let program = '';
  let files: readonly string[] = [];

  before(async () => {
    folder = await temporaryDirectory();
    const source = join(folder.path, 'source');
    home = join(folder.path, 'home');
    for (const name of [...SOURCES, ...TEXTS]) await cp(join(ROOT, name), join(source, name), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(source, 'node_modules'));
    // `npm run check` checks the types, which takes most of the time of a build.
    const buildSettings = JSON.parse(await readFile(join(source, 'tsconfig.build.json'), 'utf8'));
    buildSettings.compilerOptions.noCheck = true;
    await writeFile(join(source, 'tsconfig.build.json'), JSON.stringify(buildSettings));
    const packed = run('npm', ['pack', '--pack-destination', folder.path, '--offline'], source);
    assert.equal(packed.status, 0, packed.stderr + packed.stdout);

    // Installs the package and links its dependencies as npm would, without a registry.
    const modules = join(home, 'node_modules');
    await mkdir(join(modules, '.bin'), { recursive: true });
    for (const name of await productionDependencies()) {
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

  test('contains the program, its license and its documents', () => {
    for (const name of ['dist/bin/accord.js', 'dist/src/main.js', 'docs/settings.md', 'package.json', ...TEXTS]) {
      assert.ok(files.includes(name), name);
    }
  });

  test('contains no tests, no sources, and no data directory', () => {
    const roots = new Set(files.map((name) => name.split('/')[0]));
    assert.deepEqual([...roots].sort(), [...TEXTS, 'deploy', 'dist', 'docs', 'package.json'].sort());
    const unwanted = files.filter((name) =>
      /\.ts$|\.(test|suite|long)\.|(^|\/)(test|rig)\b|accord-data|credentials\.json/.test(name),
    );
    assert.deepEqual(unwanted, []);
  });

  test('contains the targets of all links in its documents', async () => {
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

  test('documents how to run its commands with npx', async () => {
    for (const name of ['README.md', 'docs/getting-started.md']) {
      const text = await readFile(join(home, 'node_modules', 'accord', name), 'utf8');
      assert.match(text, /From the package.*`npx accord` stands for\s`bin\/accord`/s, name);
    }
  });

  test('is private, because its name is taken in the public registry', async () => {
    const { private: isPrivate } = JSON.parse(await readFile(join(home, 'node_modules/accord/package.json'), 'utf8'));
    assert.equal(isPrivate, true);
  });

  test('requires Node.js 26, and does not depend on the node package [SRV-1]', async () => {
    const { engines, dependencies, version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    assert.deepEqual([engines, dependencies.node], [{ node: '>=26' }, undefined]);
    const { stdout, stderr } = run('npx', ['--offline', 'accord', 'version'], home);
    assert.equal(stdout, `accord ${version}\n`, stderr);
  });

  const skip = oldNode === undefined && 'the PATH has no old Node.js';
  test('exits with code 2 and one line on an older Node.js [SRV-1]', { skip }, () => {
    const { status, stdout, stderr } = run(oldNode ?? '', [program, 'server'], home);
    assert.deepEqual([status, stdout], [2, '']);
    assert.match(stderr, /^accord: Node\.js 26 or later is needed; this is \d+\.\d+\.\d+\n$/);
  });

  test('starts a server in an empty folder', async () => {
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
