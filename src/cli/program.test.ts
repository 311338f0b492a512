import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCli } from '../../test/support/process/cli-harness.ts';
import { CommandError } from './errors.ts';
import type { ServeOptions } from './shell.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-program-'));
after(() => rmSync(folder, { recursive: true }));

const settingFlags = [
  { key: 'http.address', flag: '--http-address', description: 'Listener. Default: 127.0.0.1:8500' },
  { key: 'data-dir', flag: '--data-dir', description: 'Folder.' },
];

test('version and --version print the version', async () => {
  assert.deepEqual(await runCli(['version']), { exitCode: 0, stdout: 'accord 1.13.0\n', stderr: '' });
  assert.deepEqual(JSON.parse((await runCli(['version', '--json'])).stdout), { version: '1.13.0' });
  assert.deepEqual(await runCli(['--version']), { exitCode: 0, stdout: '1.13.0\n', stderr: '' });
});

test('--help and help write to standard output', async () => {
  for (const args of [['--help'], ['help'], ['acl', 'token', '--help'], ['help', 'partition']]) {
    const { exitCode, stdout, stderr } = await runCli(args);
    assert.deepEqual([exitCode, stderr], [0, ''], args.join(' '));
    assert.match(stdout, /^Usage: accord/);
  }
});

test('the help of acl token create explains grants and ACCORD_TOKEN', async () => {
  const { stdout } = await runCli(['acl', 'token', 'create', '--help']);
  assert.match(stdout, /RESOURCE:ACCESS\[@PARTITION\]\[=NAME,…\]/);
  assert.match(stdout, /ACCORD_TOKEN/);
});

test('a command group without a command is a usage error and prints help on standard error', async () => {
  for (const args of [[], ['acl'], ['acl', 'token'], ['partition']]) {
    const { exitCode, stdout, stderr } = await runCli(args);
    assert.deepEqual([exitCode, stdout], [2, ''], args.join(' '));
    assert.match(stderr, /^Usage: accord/);
  }
});

test('usage errors are printed in one line with the closest name [SRV-96]', async () => {
  const lines: Readonly<Record<string, string>> = {
    statsu: "accord: unknown command 'statsu' (Did you mean status?)\n",
    'status --jsn': "accord: unknown option '--jsn' (Did you mean --json?)\n",
    'status extra': "accord: too many arguments for 'status'. Expected 0 arguments but got 1: extra.\n",
    'partition read': "accord: missing required argument 'name'\n",
    'server --http-adress x': "accord: unknown option '--http-adress' (Did you mean --http-address?)\n",
    'server --http-address': "accord: option '--http-address <value>' argument missing\n",
  };
  for (const [args, line] of Object.entries(lines)) {
    assert.deepEqual(await runCli(args.split(' '), { local: { settingFlags } }), {
      exitCode: 2,
      stdout: '',
      stderr: line,
    });
  }
});

test('server passes settings, import, and recovery and returns the exit code of the server [SRV-51]', async () => {
  const calls: ServeOptions[] = [];
  const serve = (options: ServeOptions): Promise<number> => {
    calls.push(options);
    return Promise.resolve(7);
  };
  const run = (...args: string[]) => runCli(['server', ...args], { local: { settingFlags, serve } });
  assert.equal((await run()).exitCode, 7);
  const passphraseFile = join(folder, 'passphrase');
  writeFileSync(passphraseFile, 'open sesame\n');
  await run('--http-address', '127.0.0.1:0', '--data-dir=/data', '--config', 'a.yaml', '--recover');
  await run('--import-file', 'state.jsonl', '--import-passphrase-file', passphraseFile);
  const defaults = {
    flags: new Map(),
    configFile: undefined,
    importFile: undefined,
    importPassphrase: undefined,
    recover: false,
  };
  const flags = new Map([
    ['http.address', '127.0.0.1:0'],
    ['data-dir', '/data'],
  ]);
  assert.deepEqual(calls, [
    defaults,
    { ...defaults, flags, configFile: 'a.yaml', recover: true },
    { ...defaults, importFile: 'state.jsonl', importPassphrase: 'open sesame' },
  ]);
  assert.equal((await run('--import-passphrase-file', passphraseFile)).exitCode, 2);
});

test('server prints invalid settings in one line and exits with 2', async () => {
  const serve = (): Promise<number> =>
    Promise.reject(new CommandError('usage', 'store from --store is "x": want sqlite or etcd'));
  assert.deepEqual(await runCli(['server'], { local: { serve } }), {
    exitCode: 2,
    stdout: '',
    stderr: 'accord: store from --store is "x": want sqlite or etcd\n',
  });
});

test('config prints settings with their origins, and warnings on standard error [SRV-95] [SRV-26]', async () => {
  const settings = [
    { key: 'http.address', value: '0.0.0.0:80', from: '--http-address' },
    { key: 'store', value: 'sqlite', from: 'default' },
  ];
  const effectiveSettings = () => Promise.resolve({ settings, warnings: ['no TLS'] });
  const local = { settingFlags, effectiveSettings };
  assert.deepEqual(await runCli(['config'], { local }), {
    exitCode: 0,
    stdout:
      'SETTING       VALUE       FROM\nhttp.address  0.0.0.0:80  --http-address\nstore         sqlite      default\n',
    stderr: 'accord: warning: no TLS\n',
  });
  assert.deepEqual(JSON.parse((await runCli(['config', '--json'], { local })).stdout), {
    'http.address': { value: '0.0.0.0:80', from: '--http-address' },
    store: { value: 'sqlite', from: 'default' },
  });
});

test('an unexpected error is thrown', async () => {
  const effectiveSettings = () => Promise.reject(new TypeError('a bug'));
  await assert.rejects(runCli(['config'], { local: { effectiveSettings } }), TypeError);
});

const TEAM_ACCESS_GROUPS = {
  organization: [
    ...['list', 'show', 'create', 'update', 'delete', 'list-members', 'add-member', 'remove-member'],
    ...['list-invitations', 'accept', 'decline', 'leave', 'take-ownership'],
  ],
  team: ['list', 'show', 'create', 'update', 'delete', 'add-member', 'remove-member'],
  workspace: ['list', 'show', 'create', 'update', 'delete'],
  'team-access': ['list', 'show', 'add', 'update', 'remove', 'apply'],
  access: ['explain', 'matrix'],
  user: ['list', 'create', 'delete', 'suspend', 'unsuspend', 'tokens', 'revoke-tokens', 'self'],
  'api-token': ['list', 'create', 'revoke'],
};

test('every command group of team access has its commands, with help about the connection [SRV-3]', async () => {
  for (const [group, commands] of Object.entries(TEAM_ACCESS_GROUPS)) {
    const { stdout: overview } = await runCli([group, '--help']);
    const listed = [...overview.matchAll(/^ {2}([a-z-]+) \[options\]/gm)].map(([, name]) => name);
    assert.deepEqual(listed, commands, overview);
    for (const command of commands) {
      const { exitCode, stdout, stderr } = await runCli([group, command, '--help']);
      assert.deepEqual([exitCode, stderr], [0, ''], `${group} ${command}`);
      for (const word of ['--address', '--api-token-file', 'ACCORD_API_TOKEN', '--ca-file', '--data-dir']) {
        assert.ok(stdout.includes(word), `${group} ${command}: ${word}`);
      }
    }
  }
});

test('a command group of team access without a command is a usage error', async () => {
  for (const group of Object.keys(TEAM_ACCESS_GROUPS)) assert.equal((await runCli([group])).exitCode, 2, group);
});
