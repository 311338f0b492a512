/** The command line against a server with default settings and first credentials. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { type CliOptions, type CliResult, runCli } from '../support/process/cli-harness.ts';
import { until } from '../support/until.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../../bin/accord');

/** The working directory of the user. It contains the data directory of the server. */
let folder = '';
let server: ChildProcess;
let address = '';
let output = '';

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'accord-user-'));
  address = `http://127.0.0.1:${await freePort()}`;
  const args = ['server', '--http-address', address.slice('http://'.length), '--peering-address', '127.0.0.1:0'];
  server = spawn(PROGRAM, args, { cwd: folder, env: environment(), stdio: ['ignore', 'pipe', 'inherit'] });
  server.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
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

/** Runs the program as a process in the user's working directory. */
const run = (...args: string[]): Promise<{ readonly stdout: string; readonly stderr: string }> =>
  promisify(execFile)(PROGRAM, args, { cwd: folder, env: environment() });

/** Runs the program in this process, which is faster, with the same first credentials. */
const cli = (args: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
  runCli(args, { ...options, environment: { ACCORD_DATA_DIR: dataDir(), ...options.environment } });

/** Runs a command that must succeed. @returns its standard output */
async function succeed(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await cli(args);
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

/** Runs a command that the server must reject. @returns its standard error */
async function fail(args: readonly string[], options?: CliOptions): Promise<string> {
  const { exitCode, stdout, stderr } = await cli(args, options);
  assert.deepEqual([exitCode, stdout], [1, ''], stderr);
  return stderr;
}

const makeToken = async (...grants: string[]): Promise<{ AccessorID: string; SecretID: string }> =>
  JSON.parse(await succeed('acl', 'token', 'create', '--json', ...grants.flatMap((grant) => ['--grant', grant])));

test('a first start prints the address, the credentials file and two requests, and no secret [SRV-44]', async () => {
  const { peering, teamAccess } = JSON.parse(await readFile(path.join(dataDir(), 'credentials.json'), 'utf8'));
  const [first, second, third, ...requests] = output.trimEnd().split('\n');
  assert.equal(first, `Accord is at ${address}`);
  assert.equal(second, 'Its first credentials are in accord-data/credentials.json');
  assert.equal(third, 'Try:');
  assert.equal(requests.length, 2);
  for (const secret of [peering.secretId, teamAccess.token]) assert.ok(!output.includes(secret));
  for (const request of requests) {
    const { stdout } = await promisify(execFile)('sh', ['-c', request], { cwd: folder });
    assert.doesNotThrow(() => JSON.parse(stdout), request);
  }
});

test('status, version and config print their results [SRV-26, SRV-67, SRV-105]', async () => {
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

test('partition commands create, show, update and delete partitions [ACL-56, ACL-60, ACL-62, SRV-104]', async () => {
  assert.match(
    await succeed('partition', 'create', 'eu', '--description', 'Europe'),
    /^Name +eu\nDescription +Europe\n/,
  );
  assert.equal(
    await fail(['partition', 'create', 'EU']),
    'accord: partition "EU" already exists; use partition update to change it\n',
  );
  assert.match(await succeed('partition', 'list'), /^NAME +DESCRIPTION\ndefault +Built in\neu +Europe\n$/);
  assert.match(await succeed('partition', 'update', 'eu', '--description', 'all of it'), /Description +all of it\n/);
  assert.equal(JSON.parse(await succeed('partition', 'read', 'eu', '--json')).Description, 'all of it');
  assert.equal(
    await fail(['partition', 'update', 'us', '--description', 'x']),
    'accord: Partition not found for "us"\n',
  );
  const { AccessorID } = await makeToken('peering:read@eu');
  assert.equal(
    await fail(['partition', 'delete', 'eu']),
    `accord: partition "eu" is still named by a grant of ACL token ${AccessorID}\n`,
  );
  await succeed('acl', 'token', 'delete', AccessorID, '--yes');
  assert.equal((await cli(['partition', 'delete', 'eu'])).stderr, 'Deleted partition eu.\n');
  assert.equal((await cli(['partition', 'delete', 'eu'])).stderr, 'Nothing to delete: partition eu does not exist.\n');
});

describe('acl token commands', () => {
  test('create, show, update and delete tokens of any partition [ACL-32, ACL-37, ACL-40, SRV-104]', async () => {
    await succeed('partition', 'create', 'us');
    const grants = ['--grant', 'peering:write=east,prod-*', '--grant', 'acl:read@*'];
    const created = await cli([
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
      created.stdout,
      /^Accessor ID {2}[0-9a-f-]{36}\nSecret ID {4}[0-9a-f-]{36}\nDescription {2}for CI\nPartition {4}us\nExpires {6}20/,
    );
    assert.match(created.stdout, /\nGrants {7}peering:write@us=east,prod-\*\n {13}acl:read@\*\n$/);
    assert.equal(created.stderr, 'The secret ID is not shown again.\n');
    const [, id = '', secret = ''] = /^Accessor ID {2}(\S+)\nSecret ID {4}(\S+)/.exec(created.stdout) ?? [];
    const as = { environment: { ACCORD_TOKEN: secret, ACCORD_ADDRESS: address } };
    assert.match((await cli(['acl', 'token', 'self'], as)).stdout, new RegExp(`^Accessor ID {2}${id}\n`));
    assert.match(
      await succeed('acl', 'token', 'list', '--partition', 'us'),
      new RegExp(`\n${id} +us +20\\S+ +peering:write@us=east,prod-\\* acl:read@\\* +for CI\n$`),
    );
    assert.match(
      await succeed('acl', 'token', 'update', id, '--grant', 'config:read@us'),
      /\nGrants {7}config:read@us\n$/,
    );
    assert.doesNotMatch(await succeed('acl', 'token', 'read', id), /Secret/);
    assert.equal((await cli(['acl', 'token', 'delete', id, '--yes'])).stderr, `Deleted token ${id}.\n`);
    assert.equal(
      (await cli(['acl', 'token', 'delete', id, '--yes'])).stderr,
      `Nothing to delete: token ${id} does not exist.\n`,
    );
    assert.equal(await fail(['acl', 'token', 'read', id]), `accord: ACL token not found for "${id}"\n`);
    assert.equal(
      await fail(['acl', 'token', 'self'], as),
      'accord: ACL not found (the token from ACCORD_TOKEN is unknown to the server or has expired)\n',
    );
  });

  test('create tokens that have only their grants [ACL-64]', async () => {
    const { AccessorID, SecretID } = await makeToken('operator:read');
    const as = { environment: { ACCORD_TOKEN: SecretID, ACCORD_ADDRESS: address } };
    assert.equal((await cli(['partition', 'list'], as)).exitCode, 0);
    assert.equal(
      await fail(['partition', 'create', 'mine'], as),
      `accord: Permission denied: token with AccessorID '${AccessorID}' lacks permission 'operator:write'\n`,
    );
  });

  test('explain how to provide a token when none was sent [ACL-63, SRV-98]', async () => {
    const environment = { ACCORD_DATA_DIR: '/no/such/folder', ACCORD_ADDRESS: address };
    assert.match(
      await fail(['acl', 'token', 'list'], { environment }),
      /^accord: Permission denied: anonymous token lacks permission 'acl:read'\..* \(no token was sent: set ACCORD_TOKEN, or name the directory of credentials\.json with --data-dir\)\n$/,
    );
  });

  test('print the error of the server [ACL-20, ACL-24, ACL-34, SRV-96]', async () => {
    const create = ['acl', 'token', 'create', '--grant'];
    assert.equal(await fail([...create, 'peering:read@nowhere']), 'accord: partition "nowhere" does not exist\n');
    assert.equal(
      await fail([...create, 'acl:read=x']),
      'accord: Grants[0].Names: a grant on acl cannot be limited to names\n',
    );
    assert.equal(
      await fail([...create, 'acl:read', '--expiration-ttl', '1d']),
      'accord: ExpirationTTL "1d" is not a duration such as 8h or 1h30m\n',
    );
    assert.equal((await cli([...create, 'peer:read'])).exitCode, 2);
  });
});

test('--watch prints a list again after each change, until an interrupt [SRV-96, SRV-102]', async () => {
  const interruption = new AbortController();
  let shown = '';
  const watching = cli(['partition', 'list', '--watch'], {
    interruption,
    onOutput: (text) => {
      shown = text;
      if (text.includes('watched')) interruption.abort();
    },
  });
  await until('the list is shown', () => shown.includes('default'));
  await succeed('partition', 'create', 'watched');
  assert.equal((await watching).exitCode, 130);
  assert.equal(shown.match(/^NAME/gm)?.length, 2);
});

test('team-access apply uses the first credentials, and requires --yes without a terminal [SRV-98]', async () => {
  await succeed('organization', 'create', 'acme', '--email', 'it@example.org');
  await succeed('workspace', 'create', 'acme/main');
  await succeed('team', 'create', 'acme/dev');
  const file = path.join(folder, 'access.yaml');
  await writeFile(file, 'workspaces:\n  acme/main:\n    dev: write\n');
  await assert.rejects(run('team-access', 'apply', file), ({ code, stdout, stderr }) => {
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^accord: cannot ask for confirmation because standard input is not a terminal: give --yes/);
    return true;
  });
  const applied = await run('team-access', 'apply', file, '--yes');
  assert.deepEqual(applied, { stdout: 'acme/main\n  + dev: write\n', stderr: 'Applied to acme/main.\n' });
  assert.match(
    await succeed('access', 'explain', '--team', 'dev', '--workspace', 'acme/main'),
    /\nruns +apply +team access tws-\w{16} of team dev\n/,
  );
});

test('audit lists the newest entries [SRV-90, SRV-107]', async () => {
  await succeed('partition', 'create', 'audited');
  const lines = (await succeed('audit', '--limit', '1')).split('\n');
  assert.match(lines[0] ?? '', /^TIME +ACTOR +FROM +ACTION +TYPE +PARTITION +SUBJECT$/);
  assert.match(lines[1] ?? '', /^20\S+Z +[0-9a-f-]{36} +127\.0\.0\.1 +create +partition +audited +audited$/);
  assert.deepEqual(JSON.parse(await succeed('audit', '--since', '2100-01-01T00:00:00Z', '--json')), []);
  assert.match(
    await fail(['audit', '--since', 'yesterday']),
    /^accord: Invalid since "yesterday": want a time such as/,
  );
});

test('export writes a complete file of mode 0600, and reports the omitted rows [SRV-50, SRV-106]', async () => {
  const plain = path.join(folder, 'plain.jsonl');
  const { stdout, stderr } = await cli(['export', plain]);
  assert.equal(stdout, '');
  assert.match(
    stderr,
    /^Exported \d+ rows at index \d+\.\nOmitted, create again after an import: \d+ of acl-tokens, 1 of user-tokens, 1 of certificate-authority \(no key encrypts/,
  );
  assert.equal((await stat(plain)).mode & 0o777, 0o600);

  const passphrase = path.join(folder, 'passphrase');
  await writeFile(passphrase, 'short\n');
  const encrypted = path.join(folder, 'encrypted.jsonl');
  assert.equal(
    await fail(['export', encrypted, '--passphrase-file', passphrase]),
    'accord: the passphrase of an export needs at least 12 characters, this one has 5\n',
  );
  await assert.rejects(stat(encrypted), { code: 'ENOENT' });
  await writeFile(passphrase, 'correct horse battery staple\n');
  const piped = await cli(['export', '-', '--passphrase-file', passphrase]);
  assert.match(piped.stderr, /^Exported \d+ rows at index \d+\.\n$/);
  assert.equal(JSON.parse(piped.stdout.split('\n')[0] ?? '').sealed.key, 'passphrase');
  const { exitCode, stderr: message } = await cli(['export', '/no/such/folder/x']);
  assert.equal(exitCode, 2);
  assert.equal(message, 'accord: cannot write /no/such/folder/x: ENOENT: no such file or directory\n');
});

test('status exits with code 3 after the server has stopped [SRV-79, SRV-96]', async () => {
  server.kill('SIGTERM');
  await once(server, 'exit');
  assert.equal(server.exitCode, 0);
  const { exitCode, stderr } = await cli(['status']);
  assert.equal(exitCode, 3);
  assert.match(stderr, /^accord: cannot reach \S+: connect ECONNREFUSED \S+; start a server with accord server/);
});
