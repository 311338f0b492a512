/** A server with HTTPS. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { one, two } from '../../src/http/server/certificates.suite.ts';
import { type Server, send, startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

/** Opens a connection and returns the common name in the server's certificate. */
async function servedName(server: Server): Promise<unknown> {
  const socket = tls.connect({ port: Number(new URL(server.address).port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return subject.CN;
}

test('a server with HTTPS reloads its certificate at SIGHUP if the certificate and the key match [SRV-56, SRV-57]', {
  timeout: 240_000,
}, async () => {
  await using directory = await temporaryDirectory();
  const files = { cert: path.join(directory.path, 'cert.pem'), key: path.join(directory.path, 'key.pem') };
  await writeFile(files.cert, one.cert);
  await writeFile(files.key, one.key);
  const settings = { 'http.tls-cert': files.cert, 'http.tls-key': files.key };
  await using server = await startServer({ dataDirectory: directory.path, settings });
  const tokenStatus = async (): Promise<number> => (await server.request('GET', '/v1/acl/token/self')).status;
  const reload = async (logText: string): Promise<void> => {
    server.process.kill('SIGHUP');
    await until(logText, () => server.log().includes(logText));
  };
  assert.equal(await tokenStatus(), 200);
  assert.equal(await servedName(server), 'one.test');
  const credentials = JSON.parse(await readFile(path.join(directory.path, 'credentials.json'), 'utf8'));
  assert.equal(credentials.address, server.address);
  assert.match(server.address, /^https:/);

  await writeFile(files.cert, two.cert);
  await reload('certificate reload failed; the previous certificate stays in use');
  assert.equal(await servedName(server), 'one.test');
  await writeFile(files.key, two.key);
  await reload('certificate reloaded');
  assert.equal(await servedName(server), 'two.test');
  assert.equal(await tokenStatus(), 200, 'an open connection continues to work');

  const plain = server.address.replace('https', 'http');
  await assert.rejects(send(new http.Agent(), plain, 'GET', '/healthz', {}), 'plain HTTP is rejected');
  assert.equal(await tokenStatus(), 200);
  assert.equal(await server.stop(), 0);
  assert.ok(!server.log().includes('PRIVATE KEY'));
});
