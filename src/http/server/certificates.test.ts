import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import tls from 'node:tls';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { until } from '../../../test/support/until.ts';
import { textAnswer } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { CERTIFICATE_CHECK_MS } from '../limits.ts';
import { createLog } from '../telemetry/log.ts';
import { one, two } from './certificates.suite.ts';
import { readCertificate, watchCertificate } from './certificates.ts';
import type { Certificate } from './node-server.ts';
import { connect, readAll, startTestServer } from './test-server.suite.ts';

const hello: Endpoint = { method: 'GET', path: '/v1/hello', summary: 'Hello', handle: () => textAnswer(200, 'hello') };

/** Returns the common name of the certificate that a new connection receives. */
async function servedName(port: number): Promise<string | undefined> {
  const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return typeof subject.CN === 'string' ? subject.CN : undefined;
}

function getText(port: number, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = https.get({ host: '127.0.0.1', port, path: '/v1/hello', ca, agent: false }, (incoming) => {
      let text = '';
      incoming.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      incoming.on('end', () => resolve(text));
    });
    outgoing.on('error', reject);
  });
}

describe('HTTPS', () => {
  it('serves its certificate, and uses a replacement for new connections', async () => {
    await using server = await startTestServer([hello], { certificate: one });
    assert.equal(await getText(server.port, one.cert), 'hello');
    server.http.replaceCertificate(two);
    assert.equal(await servedName(server.port), 'two.test');
    await assert.rejects(getText(server.port, one.cert), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    assert.equal(await getText(server.port, two.cert), 'hello');
  });

  it('keeps the old certificate when the key does not match the new one [SRV-57]', async () => {
    await using server = await startTestServer([hello], { certificate: one });
    assert.throws(() => server.http.replaceCertificate({ cert: two.cert, key: one.key }));
    assert.equal(await servedName(server.port), 'one.test');
  });

  it('rejects plain HTTP and TLS before 1.2 [SRV-56]', async () => {
    await using server = await startTestServer([hello], { certificate: one });
    const socket = await connect(server.port);
    socket.write('GET /v1/hello HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.doesNotMatch(await readAll(socket), /200 OK/);
    const old = tls.connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false, maxVersion: 'TLSv1.1' });
    await once(old, 'error');
  });
});

describe('certificate files', () => {
  async function fixture(): Promise<
    AsyncDisposable & { cert: string; key: string; write(c: Certificate): Promise<void> }
  > {
    const directory = await mkdtemp(path.join(tmpdir(), 'accord-certificate-'));
    const files = { cert: path.join(directory, 'cert.pem'), key: path.join(directory, 'key.pem') };
    return {
      ...files,
      write: async ({ cert, key }) => {
        await writeFile(files.cert, cert);
        await writeFile(files.key, key);
      },
      [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
    };
  }

  it('rejects a missing file, and a key that does not match the certificate', async () => {
    await using files = await fixture();
    await assert.rejects(readCertificate(files), { code: 'ENOENT' });
    await files.write(one);
    assert.deepEqual(await readCertificate(files), one);
    await files.write({ cert: two.cert, key: one.key });
    await assert.rejects(readCertificate(files), { code: 'ERR_OSSL_X509_KEY_VALUES_MISMATCH' });
  });

  it('reloads changed files that match, periodically and immediately on demand [SRV-57]', async () => {
    await using files = await fixture();
    await files.write(one);
    const clock = createFakeClock();
    const lines: string[] = [];
    const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => void lines.push(line) } });
    const replaced: Certificate[] = [];
    const stop = new AbortController();
    const replace = (certificate: Certificate): void => void replaced.push(certificate);
    const check = watchCertificate({ files, current: one, replace, clock, log, signal: stop.signal });
    await check();
    assert.deepEqual(replaced, []);

    await files.write({ cert: two.cert, key: one.key });
    await check();
    assert.deepEqual(replaced, []);
    assert.match(lines.join(''), /the previous certificate stays in use/);

    await files.write(two);
    await until('the timer is set again', () => clock.timerCount === 1);
    clock.advance(CERTIFICATE_CHECK_MS);
    await until('the new certificate is used', () => replaced.length === 1);
    assert.deepEqual(replaced, [two]);

    await files.write(one);
    await check();
    assert.deepEqual(replaced, [two, one]);
    stop.abort();
    await until('no timer is left', () => clock.timerCount === 0);
  });
});
