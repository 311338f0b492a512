import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Sources } from './config/given.ts';
import { propertyPath } from './config/setting.ts';
import { settingKeys, settingOf } from './config/table.ts';
import { loadConfig, reloadConfig } from './config.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-config-'));
after(() => rmSync(folder, { recursive: true }));

let fileCount = 0;
function writeConfig(content: string): string {
  const path = join(folder, `${fileCount++}.yaml`);
  writeFileSync(path, content);
  return path;
}

const empty = writeConfig('');

const sources = (
  given: Partial<Omit<Sources, 'flags'>> & { readonly flags?: Record<string, string> } = {},
): Sources => ({
  environment: {},
  configFile: empty,
  host: { name: 'node-1', isTerminal: false },
  ...given,
  flags: new Map(Object.entries(given.flags ?? {})),
});

const levelFile = writeConfig('log:\n  level: warn\n');
const flag = { 'log.level': 'trace' };
const variable = { ACCORD_LOG_LEVEL: 'debug' };

/** The source that takes precedence, for each set of sources that contain the setting. */
const precedence = [
  {
    flags: flag,
    environment: variable,
    configFile: levelFile,
    level: 'trace',
    from: { kind: 'flag', name: '--log-level' },
  },
  {
    flags: flag,
    environment: variable,
    configFile: empty,
    level: 'trace',
    from: { kind: 'flag', name: '--log-level' },
  },
  { flags: flag, environment: {}, configFile: levelFile, level: 'trace', from: { kind: 'flag', name: '--log-level' } },
  { flags: flag, environment: {}, configFile: empty, level: 'trace', from: { kind: 'flag', name: '--log-level' } },
  {
    flags: {},
    environment: variable,
    configFile: levelFile,
    level: 'debug',
    from: { kind: 'variable', name: 'ACCORD_LOG_LEVEL' },
  },
  {
    flags: {},
    environment: variable,
    configFile: empty,
    level: 'debug',
    from: { kind: 'variable', name: 'ACCORD_LOG_LEVEL' },
  },
  {
    flags: {},
    environment: {},
    configFile: levelFile,
    level: 'warn',
    from: { kind: 'file', path: levelFile, line: 2 },
  },
  { flags: {}, environment: {}, configFile: empty, level: 'info', from: { kind: 'default' } },
];

for (const { level, from, ...given } of precedence) {
  // Verifies [SRV-5].
  test(`loadConfig prefers ${from.kind} among ${Object.keys({ ...given.flags, ...given.environment }).join(', ')} and ${given.configFile === empty ? 'no file' : 'a file'}`, async () => {
    const { config, inForce } = await loadConfig(sources(given));
    assert.equal(config.log.level, level);
    assert.deepEqual(inForce.find(({ key }) => key === 'log.level')?.origin, from);
  });
}

test('loadConfig returns the defaults in milliseconds, bytes, and host with port', async () => {
  const { config } = await loadConfig(sources());
  assert.deepEqual(config.services, ['peering', 'team-access']);
  assert.deepEqual(config.http.address, { host: '127.0.0.1', port: 8500 });
  assert.deepEqual(config.peering.address, { host: '127.0.0.1', port: 8503 });
  assert.equal(config.peering.advertise, undefined);
  assert.equal(config.peering.tokenTtl, 7 * 86_400_000);
  assert.equal(config.limits.bulkBody, 16 * 2 ** 20);
  assert.equal(config.etcd.compact, 600_000);
  assert.equal(config.dns.address, 'off');
  assert.equal(config.node.name, 'node-1');
  assert.equal(config.dataKey, undefined);
  assert.deepEqual(config.compat, []);
});

test('log.format defaults to text on a terminal and to JSON otherwise [SRV-73]', async () => {
  const onTerminal = await loadConfig(sources({ host: { name: 'a', isTerminal: true } }));
  assert.equal(onTerminal.config.log.format, 'text');
  assert.equal((await loadConfig(sources())).config.log.format, 'json');
});

test('loadConfig rejects a host name that is not a node name, and names the setting', async () => {
  await assert.rejects(loadConfig(sources({ host: { name: 'my host', isTerminal: false } })), {
    message: 'node.name from default is "my host": want 1 to 128 letters, digits, dots, - or _',
  });
});

test('loadConfig returns every setting at the path of its type, deeply frozen [SRV-27]', async () => {
  const { config, inForce } = await loadConfig(sources());
  assert.deepEqual(
    inForce.map(({ key }) => key),
    settingKeys,
  );
  for (const { key, value } of inForce) {
    let found: unknown = config;
    for (const name of propertyPath(key, settingOf(key))) {
      assert.ok(Object.isFrozen(found), key);
      assert.ok(Object.hasOwn(found as object, name), key);
      found = (found as Record<string, unknown>)[name];
    }
    assert.equal(found, value, key);
    assert.ok(Object.isFrozen(found), key);
  }
});

test('loadConfig rejects an unknown variable with the nearest name and without its value [SRV-9]', async () => {
  await assert.rejects(loadConfig(sources({ environment: { ACCORD_HTP_ADDRESS: 's3cret' } })), {
    name: 'ConfigError',
    message: 'ACCORD_HTP_ADDRESS in the environment is not a setting; did you mean ACCORD_HTTP_ADDRESS?',
  });
  await assert.rejects(loadConfig(sources({ environment: { ACCORD_BOOTSTRAP_ADMN_TOKEN: 's3cret' } })), {
    message: /not a setting; did you mean ACCORD_BOOTSTRAP_ADMIN_TOKEN\?$/,
  });
});

test('loadConfig ignores variables of the client, of test runs, and of other programs [SRV-10]', async () => {
  const environment = {
    ACCORD_ADDRESS: 'x',
    ACCORD_TOKEN: 'x',
    ACCORD_API_TOKEN: 'x',
    ACCORD_CA_FILE: 'x',
    ACCORD_TEST_SKIP: 'etcd',
    HOME: '/',
  };
  const { inForce } = await loadConfig(sources({ environment }));
  assert.ok(inForce.every(({ origin }) => origin.kind === 'default'));
});

test('loadConfig rejects an unknown flag with the nearest name [SRV-9]', async () => {
  await assert.rejects(loadConfig(sources({ flags: { 'http.adress': '' } })), {
    message: /did you mean http\.address\?$/,
  });
});

test('loadConfig treats an empty environment variable as a value [SRV-11]', async () => {
  await assert.rejects(loadConfig(sources({ environment: { ACCORD_STORE: '' } })), {
    message: 'store from ACCORD_STORE is "": want sqlite or etcd',
  });
  const { config } = await loadConfig(sources({ environment: { ACCORD_COMPAT: '' } }));
  assert.deepEqual(config.compat, []);
});

test('loadConfig reads a secret from a file or a variable and never shows it [SRV-12] [SRV-26]', async () => {
  const key = Buffer.alloc(32, 1).toString('base64');
  const path = join(folder, 'key');
  writeFileSync(path, key);
  const fromFile = await loadConfig(
    sources({ flags: { 'data-key-file': path }, environment: { ACCORD_DATA_KEY: 'beaten' } }),
  );
  assert.deepEqual(fromFile.config.dataKey?.read(), Buffer.alloc(32, 1));
  assert.equal(fromFile.inForce[0]?.shown, path);
  const fromVariable = await loadConfig(sources({ environment: { ACCORD_DATA_KEY: key } }));
  assert.deepEqual(fromVariable.config.dataKey?.read(), Buffer.alloc(32, 1));
  assert.equal(fromVariable.inForce[0]?.shown, 'hidden');
  assert.ok(!JSON.stringify(fromVariable).includes(key));
});

test('loadConfig rejects a secret and its file in the environment at once [SRV-12]', async () => {
  const environment = { ACCORD_DATA_KEY: 'x', ACCORD_DATA_KEY_FILE: '/run/key' };
  await assert.rejects(loadConfig(sources({ environment })), {
    message: 'ACCORD_DATA_KEY and ACCORD_DATA_KEY_FILE are both in the environment: want one of them',
  });
});

test('loadConfig does not read the files of the first credentials [SRV-14]', async () => {
  const path = join(folder, 'not-yet');
  const { config } = await loadConfig(sources({ flags: { 'bootstrap.acl-token-file': path } }));
  assert.throws(() => config.bootstrap.aclToken?.read(), /bootstrap\.acl-token-file: cannot read/);
  writeFileSync(path, 'd3b07384-d9a0-4c2b-8f5e-0a1b2c3d4e5f\n');
  assert.equal(config.bootstrap.aclToken?.read(), 'd3b07384-d9a0-4c2b-8f5e-0a1b2c3d4e5f');
});

test('loadConfig rejects a named settings file that is missing or unreadable [SRV-6]', async () => {
  const missing = join(folder, 'missing.yaml');
  await assert.rejects(loadConfig(sources({ configFile: missing })), {
    message: /^cannot read the settings file .*missing\.yaml: ENOENT/,
  });
  const directory = join(folder, 'directory.yaml');
  mkdirSync(directory);
  await assert.rejects(loadConfig(sources({ configFile: directory })), {
    message: /^cannot read the settings file .*EISDIR/,
  });
  const huge = writeConfig('#'.repeat(1024 * 1024 + 1));
  await assert.rejects(loadConfig(sources({ configFile: huge })), {
    message: /it has 1048577 bytes, want at most 1048576$/,
  });
});

test('loadConfig names the line of an invalid value in the file [SRV-8]', async () => {
  const configFile = writeConfig('# settings\nhttp:\n  address: 8500\n');
  await assert.rejects(loadConfig(sources({ configFile })), {
    message: `http.address from ${configFile}:3 is "8500": want host:port such as 127.0.0.1:8500 (IPv6 in brackets, port 0 to 65535)`,
  });
});

test('loadConfig truncates a long value in the message [SRV-8]', async () => {
  await assert.rejects(
    loadConfig(sources({ flags: { store: 'x'.repeat(10_000) } })),
    (error: Error) => error.message.length < 200,
  );
});

// Verifies [SRV-27] [SRV-83].
test('reloadConfig changes the log level and the rate limit, and lists settings that need a restart', async () => {
  const configFile = writeConfig('log.level: info\nteam-access.rate-limit: 30\nstale.max-age: 10m\n');
  const given = sources({ configFile });
  const loaded = await loadConfig(given);
  writeFileSync(configFile, 'log.level: debug\nteam-access.rate-limit: 60\nstale.max-age: 20m\n');
  const again = await reloadConfig(given, loaded);
  assert.deepEqual(again.changed, ['team-access.rate-limit', 'log.level']);
  assert.deepEqual(again.restartNeeded, ['stale.max-age']);
  assert.equal(again.config.log.level, 'debug');
  assert.equal(again.config.teamAccess.rateLimit, 60);
  assert.equal(again.config.stale.maxAge, 600_000);
  assert.ok(Object.isFrozen(again.config));
  assert.equal(loaded.config.log.level, 'info');
  const third = await reloadConfig(given, again);
  assert.deepEqual([third.changed, third.restartNeeded], [[], ['stale.max-age']]);
});

test('reloadConfig rejects settings that became invalid [SRV-83]', async () => {
  const configFile = writeConfig('log.level: info\n');
  const given = sources({ configFile });
  const loaded = await loadConfig(given);
  writeFileSync(configFile, 'log.level: loud\n');
  await assert.rejects(reloadConfig(given, loaded), { message: /^log\.level from .*:1 is "loud": want one of / });
  assert.equal(loaded.config.log.level, 'info');
});
