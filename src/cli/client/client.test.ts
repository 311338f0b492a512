import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { accord, startServer } from '../../../test/support/process/cli-harness.ts';
import { createClient } from './client.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-client-'));
after(() => rmSync(folder, { recursive: true }));

/** Certificate for 127.0.0.1, of nobody, valid until 2124, and its key: for these tests alone. */
const cert = `-----BEGIN CERTIFICATE-----
MIIBYDCCAQagAwIBAgIBATAKBggqhkjOPQQDAjAWMRQwEgYDVQQDDAtBY2NvcmQg
dGVzdDAgFw0yNDAxMDEwMDAwMDBaGA8yMTI0MDEwMTAwMDAwMFowFjEUMBIGA1UE
AwwLQWNjb3JkIHRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASGgPjiG/d6
7ybFt+n5LQqzPem3vhtSowx7S51Ccjaa7XGMr3zsTPLOicM5KY4y2MSVbTYFwt01
YWyGPBOczoAUo0MwQTAPBgNVHRMBAf8EBTADAQH/MA8GA1UdEQQIMAaHBH8AAAEw
HQYDVR0OBBYEFPg8QXCpdkWRcIoD1HgBt4fwo4ZaMAoGCCqGSM49BAMCA0gAMEUC
IQCJUu0VttkFJlGLs4McXdNdf+zAU1sHPQgS2ywp/JzQbwIgfTRw/ErC4xxPCUrS
qj4oH7DNK0EQB1sUJH9781jFnF4=
-----END CERTIFICATE-----
`;
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZ0GQT894ytkno8an
aCZY3dY6dlyMYGiKd0g/AGNsd5uhRANCAASGgPjiG/d67ybFt+n5LQqzPem3vhtS
owx7S51Ccjaa7XGMr3zsTPLOicM5KY4y2MSVbTYFwt01YWyGPBOczoAU
-----END PRIVATE KEY-----
`;

const list = (address: string, ...more: string[]): string[] => ['partition', 'list', '--address', address, ...more];

/** The address of a server that does `act` with every connection, below HTTP. */
async function startSocketServer(t: TestContext, act: (socket: import('node:net').Socket) => void): Promise<string> {
  const sockets = new Set<import('node:net').Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    act(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a refusal is shown in the words of the server and exits with 1', async (t) => {
  const { address } = await startServer(t, () => ({ status: 503, body: 'no store\nfor 10 s\u001b[2J' }));
  const { exitCode, stdout, stderr } = await accord(list(address));
  assert.deepEqual([exitCode, stdout, stderr], [1, '', 'accord: no store\nfor 10 s\\x1b[2J\n']);
});

test('a refusal without words shows its status, a redirect where it points', async (t) => {
  const { address } = await startServer(t, () => ({ status: 302, headers: { location: 'https://elsewhere/' } }));
  const { exitCode, stderr } = await accord(list(address));
  assert.equal(exitCode, 1);
  assert.match(stderr, /status 302 without a word \(it points to https:\/\/elsewhere\/\)/);
});

test('who sends no token and is forbidden is told how to give one', async (t) => {
  const { address } = await startServer(t, () => ({ status: 403, body: 'Permission denied' }));
  assert.match(
    (await accord(list(address))).stderr,
    /^accord: Permission denied \(no token was sent: set ACCORD_TOKEN/,
  );
  const withToken = await accord(list(address), { environment: { ACCORD_TOKEN: 'x' } });
  assert.equal(withToken.stderr, 'accord: Permission denied\n');
});

test('a long refusal is cut', async (t) => {
  const { address } = await startServer(t, () => ({ status: 502, body: `<html>${'x'.repeat(100_000)}` }));
  assert.ok((await accord(list(address))).stderr.length < 2_100);
});

test('an answer that is not JSON comes from something else', async (t) => {
  const { address } = await startServer(t, () => ({ body: '<html>' }));
  const { exitCode, stderr } = await accord(list(address));
  assert.equal(exitCode, 1);
  assert.match(stderr, /is not JSON: is that an Accord server\?/);
});

test('a server that is not there exits with 3, its address, the cause and what to do', async () => {
  const { exitCode, stderr } = await accord(list('http://127.0.0.1:1'));
  assert.equal(exitCode, 3);
  const cause = 'connect ECONNREFUSED 127.0.0.1:1';
  const advice = 'start a server there with accord server, or name another with --address';
  assert.equal(stderr, `accord: cannot reach http://127.0.0.1:1: ${cause}; ${advice}\n`);
});

test('a server that hangs up, before or within its answer, is not reachable', async (t) => {
  const heads = [
    '',
    'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[1',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[1\r\n',
  ];
  for (const head of heads) {
    const address = await startSocketServer(t, (socket) => socket.once('data', () => socket.end(head)));
    const { exitCode, stderr } = await accord(list(address));
    assert.equal(exitCode, 3, head);
    assert.match(stderr, /^accord: cannot reach http:\/\/127\.0\.0\.1:\d+: \S/);
  }
});

test('a server that is silent is given up', async (t) => {
  const address = await startSocketServer(t, () => {});
  const connection = { address, token: undefined, tokenFrom: '', ca: undefined };
  const client = createClient(connection, new AbortController().signal);
  await assert.rejects(client.send({ method: 'GET', path: '/', silenceMs: 20 }), {
    code: 'unreachable',
    message: `cannot reach ${address}: no answer within 0.02 s`,
  });
});

test('an interrupted request ends the command with 130', async (t) => {
  const interruption = new AbortController();
  const address = await startSocketServer(t, (socket) => socket.once('data', () => interruption.abort()));
  const { exitCode, stderr } = await accord(list(address), { interruption });
  assert.deepEqual([exitCode, stderr], [130, '']);
});

test('a server with a certificate of a private authority is trusted when that is named', async (t) => {
  const { address } = await startServer(t, () => ({ body: [] }), { key, cert });
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, cert);
  assert.equal((await accord(list(address, '--ca-file', caFile))).exitCode, 0);
  assert.equal((await accord(list(address), { environment: { ACCORD_CA_FILE: caFile } })).exitCode, 0);
  const distrusted = await accord(list(address));
  assert.equal(distrusted.exitCode, 3);
  assert.match(distrusted.stderr, /name its certificate with --ca-file/);
});

test('the wrong scheme is told', async (t) => {
  const secure = await startServer(t, () => ({ body: [] }), { key, cert });
  const plain = await startServer(t, () => ({ body: [] }));
  const plainToSecure = await accord(list(secure.address.replace('https', 'http')));
  assert.equal(plainToSecure.exitCode, 3);
  assert.match(plainToSecure.stderr, /does it speak HTTPS\?/);
  const secureToPlain = await accord(list(plain.address.replace('http', 'https')));
  assert.equal(secureToPlain.exitCode, 3);
  assert.match(secureToPlain.stderr, /is its address http:\/\/ instead of https:\/\/\?/);
});
