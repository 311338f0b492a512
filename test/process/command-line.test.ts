/** The command line against a real server, as somebody uses it who has just installed it. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { accord, type Outcome, type RunOptions } from '../support/process/cli-harness.ts';
import { until } from '../support/until.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../../bin/accord');

/** Where the user stands: the server's data directory is below. */
let folder = '';
let server: ChildProcess;
let address = '';
let printed = '';

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'accord-user-'));
  address = `http://127.0.0.1:${await freePort()}`;
  const args = ['server', '--http-address', address.slice('http://'.length), '--peering-address', '127.0.0.1:0'];
  server = spawn(PROGRAM, args, { cwd: folder, env: environment(), stdio: ['ignore', 'pipe', 'inherit'] });
  server.stdout?.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  await until(
    'the server is ready',
    async () => {
      assert.equal(server.exitCode, null);
      return await fetch(`${address}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    },
    60_000,
  );
});
after(async () => {
  if (server.exitCode === null && server.signalCode === null) {
    server.kill('SIGKILL');
    await once(server, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
});

function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('ACCORD_'));
  return { ...Object.fromEntries(own), ACCORD_LOG_LEVEL: 'error' };
}

const dataDir = (): string => path.join(folder, 'accord-data');

/** A whole process, as the shell starts it in the user's folder. */
const run = (...args: string[]): Promise<{ readonly stdout: string; readonly stderr: string }> =>
  promisify(execFile)(PROGRAM, args, { cwd: folder, env: environment() });

/** The same program in this process, which is quicker; it finds the first credentials in the same place. */
const cli = (args: readonly string[], options: RunOptions = {}): Promise<Outcome> =>
  accord(args, { ...options, environment: { ACCORD_DATA_DIR: dataDir(), ...options.environment } });

/** A command that succeeds. @returns what it printed */
async function done(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await cli(args);
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

/** A command that the server refuses. @returns its words */
async function refused(args: readonly string[], options?: RunOptions): Promise<string> {
  const { exitCode, stdout, stderr } = await cli(args, options);
  assert.deepEqual([exitCode, stdout], [1, ''], stderr);
  return stderr;
}

const makeToken = async (...grants: string[]): Promise<{ AccessorID: string; SecretID: string }> =>
  JSON.parse(await done('acl', 'token', 'create', '--json', ...grants.flatMap((grant) => ['--grant', grant])));

test('a server says where it is, where its credentials are and what to try, and no secret', async () => {
  const { peering, teamAccess } = JSON.parse(await readFile(path.join(dataDir(), 'credentials.json'), 'utf8'));
  const [first, second, third, ...requests] = printed.trimEnd().split('\n');
  assert.equal(first, `Accord is at ${address}`);
  assert.equal(second, 'Its first credentials are in accord-data/credentials.json');
  assert.equal(third, 'Try:');
  assert.equal(requests.length, 2);
  for (const secret of [peering.secretId, teamAccess.token]) assert.ok(!printed.includes(secret));
  for (const request of requests) {
    const { stdout } = await promisify(execFile)('sh', ['-c', request], { cwd: folder });
    assert.doesNotThrow(() => JSON.parse(stdout), request);
  }
});

test('status, version and config work as they are', async () => {
  const [status, version, config] = await Promise.all([
    run('status'),
    run('version'),
    run('config', '--store', 'etcd'),
  ]);
  assert.match(
    status.stdout,
    new RegExp(
      `^Address {2}${address}\nHealthy {2}yes\nReady {4}yes\nVersion {2}\\d+\\.\\d+\\.\\d+\nIndex {4}\\d+\nStore {4}in contact`,
    ),
  );
  assert.match(version.stdout, /^accord \d+\.\d+\.\d+\n$/);
  assert.match(config.stdout, /\nstore +etcd +--store\n/);
  assert.match(config.stdout, /\nlog\.level +error +ACCORD_LOG_LEVEL\n/);
});

test('partitions are made, shown, changed and deleted', async () => {
  assert.match(await done('partition', 'create', 'eu', '--description', 'Europe'), /^Name +eu\nDescription +Europe\n/);
  assert.equal(
    await refused(['partition', 'create', 'EU']),
    'accord: partition "EU" exists already; to change it: update\n',
  );
  assert.match(await done('partition', 'list'), /^NAME +DESCRIPTION\ndefault +Built in\neu +Europe\n$/);
  assert.match(await done('partition', 'update', 'eu', '--description', 'all of it'), /Description +all of it\n/);
  assert.equal(JSON.parse(await done('partition', 'read', 'eu', '--json')).Description, 'all of it');
  assert.equal(
    await refused(['partition', 'update', 'us', '--description', 'x']),
    'accord: Partition not found for "us"\n',
  );
  const { AccessorID } = await makeToken('peering:read@eu');
  assert.equal(
    await refused(['partition', 'delete', 'eu']),
    `accord: partition "eu" is still named by a grant of ACL token ${AccessorID}\n`,
  );
  await done('acl', 'token', 'delete', AccessorID);
  assert.equal((await cli(['partition', 'delete', 'eu'])).stderr, 'Deleted partition eu.\n');
  assert.equal((await cli(['partition', 'delete', 'eu'])).stderr, 'There is no partition eu: nothing was deleted.\n');
});

describe('tokens', () => {
  test('are made, shown, changed and deleted, wherever they live', async () => {
    await done('partition', 'create', 'us');
    const grants = ['--grant', 'peering:write=east,prod-*', '--grant', 'acl:read@*'];
    const made = await cli([
      'acl',
      'token',
      'create',
      ...grants,
      '--partition',
      'us',
      '--description',
      'for CI',
      '--expiration-ttl',
      '8h',
    ]);
    assert.match(
      made.stdout,
      /^Accessor ID {2}[0-9a-f-]{36}\nSecret ID {4}[0-9a-f-]{36}\nDescription {2}for CI\nPartition {4}us\nExpires {6}20/,
    );
    assert.match(made.stdout, /\nGrants {7}peering:write@us=east,prod-\*\n {13}acl:read@\*\n$/);
    assert.equal(made.stderr, 'The secret ID is not shown again.\n');
    const [, id = '', secret = ''] = /^Accessor ID {2}(\S+)\nSecret ID {4}(\S+)/.exec(made.stdout) ?? [];
    const as = { environment: { ACCORD_TOKEN: secret, ACCORD_ADDRESS: address } };
    assert.match((await cli(['acl', 'token', 'self'], as)).stdout, new RegExp(`^Accessor ID {2}${id}\n`));
    assert.match(
      await done('acl', 'token', 'list', '--partition', 'us'),
      new RegExp(`\n${id} +us +20\\S+ +peering:write@us=east,prod-\\* acl:read@\\* +for CI\n$`),
    );
    assert.match(
      await done('acl', 'token', 'update', id, '--grant', 'config:read@us'),
      /\nGrants {7}config:read@us\n$/,
    );
    assert.doesNotMatch(await done('acl', 'token', 'read', id), /Secret/);
    assert.equal((await cli(['acl', 'token', 'delete', id])).stderr, `Deleted token ${id}.\n`);
    assert.equal((await cli(['acl', 'token', 'delete', id])).stderr, `There is no token ${id}: nothing was deleted.\n`);
    assert.equal(await refused(['acl', 'token', 'read', id]), `accord: ACL token not found for "${id}"\n`);
    assert.equal(
      await refused(['acl', 'token', 'self'], as),
      'accord: ACL not found (the token from ACCORD_TOKEN is unknown to the server, or has expired)\n',
    );
  });

  test('may do what their grants say, and no more', async () => {
    const { AccessorID, SecretID } = await makeToken('operator:read');
    const as = { environment: { ACCORD_TOKEN: SecretID, ACCORD_ADDRESS: address } };
    assert.equal((await cli(['partition', 'list'], as)).exitCode, 0);
    assert.equal(
      await refused(['partition', 'create', 'mine'], as),
      `accord: Permission denied: token with AccessorID '${AccessorID}' lacks permission 'operator:write'\n`,
    );
  });

  test('are asked for where there is none', async () => {
    const environment = { ACCORD_DATA_DIR: '/no/such/folder', ACCORD_ADDRESS: address };
    assert.match(
      await refused(['acl', 'token', 'list'], { environment }),
      /^accord: Permission denied: anonymous token lacks permission 'acl:read'\..* \(no token was sent: set ACCORD_TOKEN, or run where the first credentials are, see --data-dir\)\n$/,
    );
  });

  test('are refused with words that say what is wanted', async () => {
    const create = ['acl', 'token', 'create', '--grant'];
    assert.equal(await refused([...create, 'peering:read@nowhere']), 'accord: partition "nowhere" does not exist\n');
    assert.equal(
      await refused([...create, 'acl:read=x']),
      'accord: Grants[0].Names: a grant on acl cannot be limited to names\n',
    );
    assert.equal(
      await refused([...create, 'acl:read', '--expiration-ttl', '1d']),
      'accord: ExpirationTTL "1d" is not a duration such as 8h or 1h30m\n',
    );
    assert.equal((await cli([...create, 'peer:read'])).exitCode, 2);
  });
});

test('--watch shows a list again when it changes, until it is interrupted', async () => {
  const interruption = new AbortController();
  let seen = '';
  const watching = cli(['partition', 'list', '--watch'], {
    interruption,
    onOutput: (text) => {
      seen = text;
      if (text.includes('watched')) interruption.abort();
    },
  });
  await until('the list is shown', () => seen.includes('default'));
  await done('partition', 'create', 'watched');
  assert.equal((await watching).exitCode, 130);
  assert.equal(seen.match(/^NAME/gm)?.length, 2);
});

test('team access is found with the first credentials, and applied from a file where nobody can be asked', async () => {
  await done('organization', 'create', 'acme', '--email', 'it@example.org');
  await done('workspace', 'create', 'acme/main');
  await done('team', 'create', 'acme/dev');
  const file = path.join(folder, 'access.yaml');
  await writeFile(file, 'workspaces:\n  acme/main:\n    dev: write\n');
  await assert.rejects(run('team-access', 'apply', file), ({ code, stdout, stderr }) => {
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^accord: nobody can be asked, since standard input is no terminal: give --yes/);
    return true;
  });
  const applied = await run('team-access', 'apply', file, '--yes');
  assert.deepEqual(applied, { stdout: 'acme/main\n  + dev: write\n', stderr: 'Applied to acme/main.\n' });
  assert.match(
    await done('access', 'explain', '--team', 'dev', '--workspace', 'acme/main'),
    /\nruns +apply +row tws-\w{16} of team dev\n/,
  );
});

test('the audit log shows what was done', async () => {
  await done('partition', 'create', 'audited');
  const lines = (await done('audit', '--limit', '1')).split('\n');
  assert.match(lines[0] ?? '', /^TIME +ACTOR +FROM +ACTION +TYPE +PARTITION +SUBJECT$/);
  assert.match(lines[1] ?? '', /^20\S+Z +[0-9a-f-]{36} +127\.0\.0\.1 +create +partition +audited +audited$/);
  assert.deepEqual(JSON.parse(await done('audit', '--since', '2100-01-01T00:00:00Z', '--json')), []);
  assert.match(
    await refused(['audit', '--since', 'yesterday']),
    /^accord: Invalid since "yesterday": want a time such as/,
  );
});

test('an export is whole, for its owner alone, and says what it leaves out', async () => {
  const plain = path.join(folder, 'plain.jsonl');
  const { stdout, stderr } = await cli(['export', plain]);
  assert.equal(stdout, '');
  assert.match(
    stderr,
    /^Exported \d+ rows at index \d+\.\nLeft out, and to be made again after an import: \d+ of acl-tokens, 1 of user-tokens, 1 of certificate-authority \(nothing encrypts/,
  );
  assert.equal((await stat(plain)).mode & 0o777, 0o600);

  const passphrase = path.join(folder, 'passphrase');
  await writeFile(passphrase, 'short\n');
  const sealed = path.join(folder, 'sealed.jsonl');
  assert.equal(
    await refused(['export', sealed, '--passphrase-file', passphrase]),
    'accord: the passphrase of an export needs at least 12 characters, this one has 5\n',
  );
  await assert.rejects(stat(sealed), { code: 'ENOENT' });
  await writeFile(passphrase, 'correct horse battery staple\n');
  const whole = await cli(['export', '-', '--passphrase-file', passphrase]);
  assert.match(whole.stderr, /^Exported \d+ rows at index \d+\.\n$/);
  assert.equal(JSON.parse(whole.stdout.split('\n')[0] ?? '').sealed.key, 'passphrase');
  const { exitCode, stderr: words } = await cli(['export', '/no/such/folder/x']);
  assert.equal(exitCode, 2);
  assert.equal(words, 'accord: cannot write /no/such/folder/x: ENOENT: no such file or directory\n');
});

test('a server that was stopped ends with 0, and is then not reachable', async () => {
  server.kill('SIGTERM');
  await once(server, 'exit');
  assert.equal(server.exitCode, 0);
  const { exitCode, stderr } = await cli(['status']);
  assert.equal(exitCode, 3);
  assert.match(stderr, /^accord: cannot reach \S+: connect ECONNREFUSED \S+; start a server there with accord server/);
});
