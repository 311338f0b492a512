import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, test } from 'node:test';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';
import { PEERING_TOKEN_BYTES_MAX } from '../../limits.ts';

const TOKEN = 'eyJDQSI6WyItLS0tLUJFR0lOIl19';
const folder = mkdtempSync(join(tmpdir(), 'accord-peering-token-'));
after(() => rmSync(folder, { recursive: true }));

const command = (address: string, ...args: string[]): string[] => ['peering', ...args, '--address', address];

test('generate-token prints only the token', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: { PeeringToken: TOKEN } }));
  const options = ['--external-address', 'a.example:8503', '--external-address', '[::1]:8503', '--meta', 'a=1=2'];
  const more = ['--meta', 'b=', '--partition', 'eu'];
  assert.deepEqual(await runCli(command(address, 'generate-token', 'east', ...options, ...more)), {
    exitCode: 0,
    stdout: `${TOKEN}\n`,
    stderr: '',
  });
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['POST', '/v1/peering/token']);
  assert.deepEqual(requests[0]?.body, {
    PeerName: 'east',
    Partition: 'eu',
    ServerExternalAddresses: ['a.example:8503', '[::1]:8503'],
    Meta: { a: '1=2', b: '' },
  });
});

test('generate-token omits missing options and prints JSON with --json', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: { PeeringToken: TOKEN } }));
  const { stdout } = await runCli(command(address, 'generate-token', 'east', '--json'));
  assert.deepEqual(JSON.parse(stdout), { PeeringToken: TOKEN });
  assert.deepEqual(requests[0]?.body, { PeerName: 'east' });
});

test('generate-token rejects invalid metadata and duplicate keys', async () => {
  for (const meta of [['team'], ['=x'], ['a=1', '--meta', 'a=2']]) {
    const { exitCode, stderr } = await runCli(['peering', 'generate-token', 'east', '--meta', ...meta]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /Want KEY=VALUE|Duplicate key "a"/);
  }
});

test('establish reads the token from standard input and removes white space', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: {} }));
  const stdin = `${TOKEN.slice(0, 9)}\r\n ${TOKEN.slice(9)}\n`;
  const outcome = await runCli(command(address, 'establish', 'west', '--meta', 'a=1'), { stdin });
  assert.deepEqual([outcome.exitCode, outcome.stdout], [0, '']);
  assert.match(outcome.stderr, /Established peering west.* --until ACTIVE/);
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['POST', '/v1/peering/establish']);
  assert.deepEqual(requests[0]?.body, { PeerName: 'west', PeeringToken: TOKEN, Meta: { a: '1' } });
});

test('establish reads the token from a file', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: {} }));
  const file = join(folder, 'token');
  writeFileSync(file, `${TOKEN}\n`);
  const { exitCode, stdout } = await runCli(command(address, 'establish', 'west', '--token-file', file, '--json'));
  assert.deepEqual([exitCode, JSON.parse(stdout)], [0, {}]);
  assert.deepEqual(requests[0]?.body, { PeerName: 'west', PeeringToken: TOKEN });
});

test('establish rejects missing and invalid tokens without a request', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: {} }));
  const establish = command(address, 'establish', 'west');
  const cases: readonly [args: readonly string[], stdin: string, message: RegExp][] = [
    [establish, ' \n', /standard input contains no peering token/],
    [[...establish, '--token-file', '-'], '', /standard input contains no peering token/],
    [
      [...establish, '--token-file', join(folder, 'none')],
      '',
      /cannot read the peering token from the file .*none: ENOENT/,
    ],
    [establish, 'x'.repeat(PEERING_TOKEN_BYTES_MAX + 1), /it has more than 524288 bytes/],
    [[...establish, TOKEN], '', /too many arguments/],
  ];
  for (const [args, stdin, message] of cases) {
    const { exitCode, stderr } = await runCli(args, { stdin });
    assert.equal(exitCode, 2);
    assert.match(stderr, message);
  }
  assert.equal(requests.length, 0);
});

test('establish exits with 130 if it is interrupted while reading the token', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: {} }));
  const interruption = new AbortController();
  const stdin = new PassThrough();
  stdin.once('newListener', () => setImmediate(() => interruption.abort()));
  const { exitCode } = await runCli(command(address, 'establish', 'west'), { stdin, interruption });
  assert.deepEqual([exitCode, requests.length], [130, 0]);
});

test("establish prints the server's error message", async (t) => {
  const message = 'a new peering token must be generated: invalid peering establishment secret';
  const { address } = await startStubServer(t, () => ({ status: 403, body: message }));
  const environment = { ACCORD_TOKEN: 'secret' };
  const { exitCode, stderr } = await runCli(command(address, 'establish', 'west'), { stdin: TOKEN, environment });
  assert.deepEqual([exitCode, stderr], [1, `accord: ${message}\n`]);
});

test('token prints the status of the unused token', async (t) => {
  const status = { Outstanding: true, CreateTime: '2026-01-31T00:00:00Z', ExpirationTime: '2026-02-07T00:00:00Z' };
  const replies = [
    { ...status, AccessorID: 'an-id' },
    { ...status, ExpirationTime: undefined },
    { Outstanding: false },
  ];
  const { address, requests } = await startStubServer(t, () => ({ body: replies.shift() }));
  const show = async (): Promise<string> => (await runCli(command(address, 'token', 'east'))).stdout;
  assert.equal(
    await show(),
    'Outstanding  yes\nCreated      2026-01-31T00:00:00Z\nCreated by   an-id\nExpires      2026-02-07T00:00:00Z\n',
  );
  assert.match(await show(), /Created by +the anonymous token\nExpires +never\n$/);
  assert.equal(await show(), 'No unused token.\n');
  assert.equal(requests[0]?.path, '/v1/peering/east/token');
});

test('token --revoke revokes the token or reports that none exists', async (t) => {
  const replies = [{ body: { Outstanding: true } }, {}, { body: { Outstanding: false } }, {}];
  const { address, requests } = await startStubServer(t, () => replies.shift() ?? {});
  const revoke = (): ReturnType<typeof runCli> =>
    runCli(command(address, 'token', 'east', '--revoke', '--partition', 'eu'));
  assert.deepEqual(await revoke(), { exitCode: 0, stdout: '', stderr: 'Revoked the token of peering east.\n' });
  assert.match((await revoke()).stderr, /Nothing to revoke: peering east has no unused token/);
  assert.deepEqual([requests[1]?.method, requests[1]?.path], ['DELETE', '/v1/peering/east/token?partition=eu']);
});
