import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { runCli, startStubServer } from '../../../test/support/process/cli-harness.ts';
import { createClient } from './client.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-client-'));
after(() => rmSync(folder, { recursive: true }));

/** A self-signed certificate for 127.0.0.1, valid until 2124, and its key. Used only in these tests. */
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

const ACCORD = join(import.meta.dirname, '../../../bin/accord');

const list = (address: string, ...more: string[]): string[] => ['partition', 'list', '--address', address, ...more];

/** Starts a TCP server that calls `act` with every connection. @returns its address */
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

test("prints the server's error message and exits with 1", async (t) => {
  const { address } = await startStubServer(t, () => ({ status: 503, body: 'no store\nfor 10 s\u001b[2J' }));
  const { exitCode, stdout, stderr } = await runCli(list(address));
  assert.deepEqual([exitCode, stdout, stderr], [1, '', 'accord: no store\nfor 10 s\\x1b[2J\n']);
});

test('prints the status of an empty error response and the target of a redirect', async (t) => {
  const { address } = await startStubServer(t, () => ({ status: 302, headers: { location: 'https://elsewhere/' } }));
  const { exitCode, stderr } = await runCli(list(address));
  assert.equal(exitCode, 1);
  assert.match(stderr, /status 302 with an empty body \(redirects to https:\/\/elsewhere\/\)/);
});

test('explains how to give a token after a 403 without one', async (t) => {
  const { address } = await startStubServer(t, () => ({ status: 403, body: 'Permission denied' }));
  assert.match(
    (await runCli(list(address))).stderr,
    /^accord: Permission denied \(no token was sent: set ACCORD_TOKEN/,
  );
  const withToken = await runCli(list(address), { environment: { ACCORD_TOKEN: 'x' } });
  assert.equal(withToken.stderr, 'accord: Permission denied\n');
});

test('shortens a long error message', async (t) => {
  const { address } = await startStubServer(t, () => ({ status: 502, body: `<html>${'x'.repeat(100_000)}` }));
  assert.ok((await runCli(list(address))).stderr.length < 2_100);
});

test('asks whether the server is Accord if the response is not JSON', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: '<html>' }));
  const { exitCode, stderr } = await runCli(list(address));
  assert.equal(exitCode, 1);
  assert.match(stderr, /is not JSON; is this an Accord server\?/);
});

test('exits with 3 and prints address, cause, and remedy if the connection is refused', async () => {
  const { exitCode, stderr } = await runCli(list('http://127.0.0.1:1'));
  assert.equal(exitCode, 3);
  const cause = 'connect ECONNREFUSED 127.0.0.1:1';
  const advice = 'start a server with accord server, or name another one with --address';
  assert.equal(stderr, `accord: cannot reach http://127.0.0.1:1: ${cause}; ${advice}\n`);
});

test('exits with 3 if the server closes the connection before or during its response', async (t) => {
  const heads = [
    '',
    'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[1',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[1\r\n',
  ];
  for (const head of heads) {
    const address = await startSocketServer(t, (socket) => socket.once('data', () => socket.end(head)));
    const { exitCode, stderr } = await runCli(list(address));
    assert.equal(exitCode, 3, head);
    assert.match(stderr, /^accord: cannot reach http:\/\/127\.0\.0\.1:\d+: \S/);
  }
});

test('stops waiting for a silent server after the idle timeout', async (t) => {
  const address = await startSocketServer(t, () => {});
  const connection = { address, token: undefined, tokenSource: '', ca: undefined };
  const client = createClient(connection, new AbortController().signal);
  await assert.rejects(client.send({ method: 'GET', path: '/', idleTimeoutMs: 20 }), {
    code: 'unreachable',
    message: `cannot reach ${address}: no response within 0.02 s`,
  });
});

test('exits with 130 if a request is interrupted', async (t) => {
  const interruption = new AbortController();
  const address = await startSocketServer(t, (socket) => socket.once('data', () => interruption.abort()));
  const { exitCode, stderr } = await runCli(list(address), { interruption });
  assert.deepEqual([exitCode, stderr], [130, '']);
});

test('trusts a certificate of a private CA named with --ca-file or ACCORD_CA_FILE [SRV-100]', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: [] }), { key, cert });
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, cert);
  assert.equal((await runCli(list(address, '--ca-file', caFile))).exitCode, 0);
  assert.equal((await runCli(list(address), { environment: { ACCORD_CA_FILE: caFile } })).exitCode, 0);
  const distrusted = await runCli(list(address));
  assert.equal(distrusted.exitCode, 3);
  assert.match(distrusted.stderr, /name the CA's certificate with --ca-file/);
});

test('trusts the certificates of the system, which `SSL_CERT_FILE` replaces [SRV-100]', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: [] }), { key, cert });
  const caFile = join(folder, 'system.pem');
  writeFileSync(caFile, cert);
  // Node reads the certificates of the system once in a process.
  const child = spawn(ACCORD, list(address), { env: { ...process.env, SSL_CERT_FILE: caFile }, stdio: 'ignore' });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('suggests the other scheme for a wrong one', async (t) => {
  const secure = await startStubServer(t, () => ({ body: [] }), { key, cert });
  const plain = await startStubServer(t, () => ({ body: [] }));
  const plainToSecure = await runCli(list(secure.address.replace('https', 'http')));
  assert.equal(plainToSecure.exitCode, 3);
  assert.match(plainToSecure.stderr, /if the server uses HTTPS, the address must start with https:/);
  const secureToPlain = await runCli(list(plain.address.replace('http', 'https')));
  assert.equal(secureToPlain.exitCode, 3);
  assert.match(secureToPlain.stderr, /try http:\/\/ instead of https:\/\//);
});
