import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, test } from 'node:test';
import { accord, startServer } from '../../../../test/support/process/cli-harness.ts';
import { PEERING_TOKEN_BYTES_MAX } from '../../limits.ts';

const TOKEN = 'eyJDQSI6WyItLS0tLUJFR0lOIl19';
const folder = mkdtempSync(join(tmpdir(), 'accord-peering-token-'));
after(() => rmSync(folder, { recursive: true }));

const command = (address: string, ...args: string[]): string[] => ['peering', ...args, '--address', address];

test('generate-token prints the token alone, so that it can be piped', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: { PeeringToken: TOKEN } }));
  const options = ['--external-address', 'a.example:8503', '--external-address', '[::1]:8503', '--meta', 'a=1=2'];
  const more = ['--meta', 'b=', '--partition', 'eu'];
  assert.deepEqual(await accord(command(address, 'generate-token', 'east', ...options, ...more)), {
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

test('generate-token sends what is given alone, and gives JSON when that is asked for', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: { PeeringToken: TOKEN } }));
  const { stdout } = await accord(command(address, 'generate-token', 'east', '--json'));
  assert.deepEqual(JSON.parse(stdout), { PeeringToken: TOKEN });
  assert.deepEqual(requests[0]?.body, { PeerName: 'east' });
});

test('metadata must be a key and a value, each key once', async () => {
  for (const meta of [['team'], ['=x'], ['a=1', '--meta', 'a=2']]) {
    const { exitCode, stderr } = await accord(['peering', 'generate-token', 'east', '--meta', ...meta]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /Want KEY=VALUE|"a" is given twice/);
  }
});

test('establish takes the token from standard input, broken lines and all', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: {} }));
  const stdin = `${TOKEN.slice(0, 9)}\r\n ${TOKEN.slice(9)}\n`;
  const outcome = await accord(command(address, 'establish', 'west', '--meta', 'a=1'), { stdin });
  assert.deepEqual([outcome.exitCode, outcome.stdout], [0, '']);
  assert.match(outcome.stderr, /Established peering west.* --until ACTIVE/);
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['POST', '/v1/peering/establish']);
  assert.deepEqual(requests[0]?.body, { PeerName: 'west', PeeringToken: TOKEN, Meta: { a: '1' } });
});

test('establish takes the token from a file', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: {} }));
  const file = join(folder, 'token');
  writeFileSync(file, `${TOKEN}\n`);
  const { exitCode, stdout } = await accord(command(address, 'establish', 'west', '--token-file', file, '--json'));
  assert.deepEqual([exitCode, JSON.parse(stdout)], [0, {}]);
  assert.deepEqual(requests[0]?.body, { PeerName: 'west', PeeringToken: TOKEN });
});

test('establish sends nothing without a token, or with what cannot be one', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: {} }));
  const establish = command(address, 'establish', 'west');
  const cases: readonly [args: readonly string[], stdin: string, message: RegExp][] = [
    [establish, ' \n', /standard input holds no peering token/],
    [[...establish, '--token-file', '-'], '', /standard input holds no peering token/],
    [
      [...establish, '--token-file', join(folder, 'none')],
      '',
      /cannot read the peering token in the file .*none: ENOENT/,
    ],
    [establish, 'x'.repeat(PEERING_TOKEN_BYTES_MAX + 1), /it has more than 524288 bytes/],
    [[...establish, TOKEN], '', /too many arguments/],
  ];
  for (const [args, stdin, message] of cases) {
    const { exitCode, stderr } = await accord(args, { stdin });
    assert.equal(exitCode, 2);
    assert.match(stderr, message);
  }
  assert.equal(requests.length, 0);
});

test('establish can be interrupted while it waits for the token', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: {} }));
  const interruption = new AbortController();
  const stdin = new PassThrough();
  stdin.once('newListener', () => setImmediate(() => interruption.abort()));
  const { exitCode } = await accord(command(address, 'establish', 'west'), { stdin, interruption });
  assert.deepEqual([exitCode, requests.length], [130, 0]);
});

test("establish tells the server's words", async (t) => {
  const words = 'a new peering token must be generated: invalid peering establishment secret';
  const { address } = await startServer(t, () => ({ status: 403, body: words }));
  const environment = { ACCORD_TOKEN: 'secret' };
  const { exitCode, stderr } = await accord(command(address, 'establish', 'west'), { stdin: TOKEN, environment });
  assert.deepEqual([exitCode, stderr], [1, `accord: ${words}\n`]);
});

test('token shows whether one waits to be used, and until when', async (t) => {
  const status = { Outstanding: true, CreateTime: '2026-01-31T00:00:00Z', ExpirationTime: '2026-02-07T00:00:00Z' };
  const replies = [
    { ...status, AccessorID: 'an-id' },
    { ...status, ExpirationTime: undefined },
    { Outstanding: false },
  ];
  const { address, requests } = await startServer(t, () => ({ body: replies.shift() }));
  const show = async (): Promise<string> => (await accord(command(address, 'token', 'east'))).stdout;
  assert.equal(
    await show(),
    'Outstanding  yes\nMade         2026-01-31T00:00:00Z\nMade by      an-id\nExpires      2026-02-07T00:00:00Z\n',
  );
  assert.match(await show(), /Made by +the anonymous token\nExpires +never\n$/);
  assert.equal(await show(), 'No token waits to be used.\n');
  assert.equal(requests[0]?.path, '/v1/peering/east/token');
});

test('token --revoke ends it, and says when there was none', async (t) => {
  const replies = [{ body: { Outstanding: true } }, {}, { body: { Outstanding: false } }, {}];
  const { address, requests } = await startServer(t, () => replies.shift() ?? {});
  const revoke = (): ReturnType<typeof accord> =>
    accord(command(address, 'token', 'east', '--revoke', '--partition', 'eu'));
  assert.deepEqual(await revoke(), { exitCode: 0, stdout: '', stderr: 'Revoked the token of peering east.\n' });
  assert.match((await revoke()).stderr, /No token of peering east waits to be used/);
  assert.deepEqual([requests[1]?.method, requests[1]?.path], ['DELETE', '/v1/peering/east/token?partition=eu']);
});
