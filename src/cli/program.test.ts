import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { accord } from '../../test/support/process/cli-harness.ts';
import { CommandError } from './errors.ts';
import type { ServeOptions } from './shell.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-program-'));
after(() => rmSync(folder, { recursive: true }));

const settingFlags = [
  { key: 'http.address', flag: '--http-address', meaning: 'Listener. Default: 127.0.0.1:8500' },
  { key: 'data-dir', flag: '--data-dir', meaning: 'Folder.' },
];

test('the version is told by a command and by a flag', async () => {
  assert.deepEqual(await accord(['version']), { exitCode: 0, stdout: 'accord 1.13.0\n', stderr: '' });
  assert.deepEqual(JSON.parse((await accord(['version', '--json'])).stdout), { version: '1.13.0' });
  assert.deepEqual(await accord(['--version']), { exitCode: 0, stdout: '1.13.0\n', stderr: '' });
});

test('help that is asked for is a result', async () => {
  for (const args of [['--help'], ['help'], ['acl', 'token', '--help'], ['help', 'partition']]) {
    const { exitCode, stdout, stderr } = await accord(args);
    assert.deepEqual([exitCode, stderr], [0, ''], args.join(' '));
    assert.match(stdout, /^Usage: accord/);
  }
});

test('help explains grants and where a token comes from', async () => {
  const { stdout } = await accord(['acl', 'token', 'create', '--help']);
  assert.match(stdout, /RESOURCE:ACCESS\[@PARTITION\]\[=NAME,…\]/);
  assert.match(stdout, /ACCORD_TOKEN/);
});

test('a group without a command is wrong use, with help beside the results', async () => {
  for (const args of [[], ['acl'], ['acl', 'token'], ['partition']]) {
    const { exitCode, stdout, stderr } = await accord(args);
    assert.deepEqual([exitCode, stdout], [2, ''], args.join(' '));
    assert.match(stderr, /^Usage: accord/);
  }
});

test('wrong use is told in one line, with the nearest name', async () => {
  const lines: Readonly<Record<string, string>> = {
    statsu: "accord: unknown command 'statsu' (Did you mean status?)\n",
    'status --jsn': "accord: unknown option '--jsn' (Did you mean --json?)\n",
    'status extra': "accord: too many arguments for 'status'. Expected 0 arguments but got 1: extra.\n",
    'partition read': "accord: missing required argument 'name'\n",
    'server --http-adress x': "accord: unknown option '--http-adress' (Did you mean --http-address?)\n",
    'server --http-address': "accord: option '--http-address <value>' argument missing\n",
  };
  for (const [args, line] of Object.entries(lines)) {
    assert.deepEqual(await accord(args.split(' '), { local: { settingFlags } }), {
      exitCode: 2,
      stdout: '',
      stderr: line,
    });
  }
});

test('server hands over settings, import and recovery, and ends with the exit code of the server', async () => {
  const calls: ServeOptions[] = [];
  const serve = (options: ServeOptions): Promise<number> => {
    calls.push(options);
    return Promise.resolve(7);
  };
  const run = (...args: string[]) => accord(['server', ...args], { local: { settingFlags, serve } });
  assert.equal((await run()).exitCode, 7);
  const passphraseFile = join(folder, 'passphrase');
  writeFileSync(passphraseFile, 'open sesame\n');
  await run('--http-address', '127.0.0.1:0', '--data-dir=/data', '--config', 'a.yaml', '--recover');
  await run('--import-file', 'state.jsonl', '--import-passphrase-file', passphraseFile);
  const nothing = {
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
    nothing,
    { ...nothing, flags, configFile: 'a.yaml', recover: true },
    { ...nothing, importFile: 'state.jsonl', importPassphrase: 'open sesame' },
  ]);
  assert.equal((await run('--import-passphrase-file', passphraseFile)).exitCode, 2);
});

test('server tells bad settings in one line and exits with 2', async () => {
  const serve = (): Promise<number> =>
    Promise.reject(new CommandError('usage', 'store from --store is "x": want sqlite or etcd'));
  assert.deepEqual(await accord(['server'], { local: { serve } }), {
    exitCode: 2,
    stdout: '',
    stderr: 'accord: store from --store is "x": want sqlite or etcd\n',
  });
});

test('config shows settings and where they come from, warnings beside', async () => {
  const settings = [
    { key: 'http.address', value: '0.0.0.0:80', from: '--http-address' },
    { key: 'store', value: 'sqlite', from: 'default' },
  ];
  const settingsInForce = () => Promise.resolve({ settings, warnings: ['no TLS'] });
  const local = { settingFlags, settingsInForce };
  assert.deepEqual(await accord(['config'], { local }), {
    exitCode: 0,
    stdout:
      'SETTING       VALUE       FROM\nhttp.address  0.0.0.0:80  --http-address\nstore         sqlite      default\n',
    stderr: 'accord: warning: no TLS\n',
  });
  assert.deepEqual(JSON.parse((await accord(['config', '--json'], { local })).stdout), {
    'http.address': { value: '0.0.0.0:80', from: '--http-address' },
    store: { value: 'sqlite', from: 'default' },
  });
});

test('an error that nobody foresaw is not swallowed', async () => {
  const settingsInForce = () => Promise.reject(new TypeError('a bug'));
  await assert.rejects(accord(['config'], { local: { settingsInForce } }), TypeError);
});
