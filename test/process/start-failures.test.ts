/** Starts that must fail: the exit code, and the only line of output, which contains the remedy. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { one, two } from '../../src/http/server/certificates.suite.ts';
import { type ServerOptions, StartError, startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Returns the exit code and the message of a failing start, from a log line, or from plain text for a bad setting. */
async function failureOf(options: ServerOptions): Promise<readonly [exitCode: number | null, message: string]> {
  try {
    await using server = await startServer(options);
    return [null, `the server started at ${server.address}`];
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const lines = error.log
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{"level":"info"'));
    assert.equal(lines.length, 1, error.log);
    const [line = ''] = lines;
    return [error.exitCode, line.startsWith('{') ? (JSON.parse(line) as { reason: string }).reason : line];
  }
}

/** Creates files, and returns the options of a start that must fail. */
type Prepare = (file: (name: string, content: string) => Promise<string>) => Promise<Partial<ServerOptions>>;

const CASES: Readonly<Record<string, readonly [prepare: Prepare, exitCode: 1 | 2, message: RegExp]>> = {
  'a certificate with the key of another certificate [SRV-56]': [
    async (file) => ({
      settings: { 'http.tls-cert': await file('cert.pem', one.cert), 'http.tls-key': await file('key.pem', two.key) },
    }),
    2,
    /^accord: http\.tls-cert .*cert\.pem and http\.tls-key .*key\.pem: want a certificate and its private key in PEM/,
  ],
  'an invalid CA certificate of etcd': [
    async (file) => ({
      settings: {
        store: 'etcd',
        'etcd.endpoints': 'https://127.0.0.1:1',
        'etcd.ca': await file('ca.pem', 'not a certificate'),
      },
    }),
    2,
    /^accord: etcd\.ca .*ca\.pem: want valid PEM files, and the key of the certificate/,
  ],
  'an invalid data key': [
    async (file) => ({ settings: { 'data-key-file': await file('key', 'short') } }),
    2,
    /^accord: data-key-file: the file .*key has an invalid value: want 32 bytes in base64/,
  ],
  'an invalid bootstrap token [SRV-41]': [
    async (file) => ({ settings: { 'bootstrap.acl-token-file': await file('token', 'short') } }),
    2,
    /^accord: bootstrap\.acl-token-file: .* want a UUID/,
  ],
  'a credentials.json of another program [SRV-40]': [
    async (file) => {
      await file('credentials.json', '{"user": "me"}');
      return {};
    },
    2,
    /credentials\.json' exists and contains no credentials of Accord: move it away, because the server never overwrites it$/,
  ],
  'bootstrap settings that differ from credentials.json [SRV-42]': [
    async (file) => {
      const peering = { accessorId: randomUUID(), secretId: randomUUID() };
      const teamAccess = { username: 'admin', token: 'x' };
      await file('credentials.json', JSON.stringify({ address: 'http://127.0.0.1', peering, teamAccess }));
      return { environment: { ACCORD_BOOTSTRAP_ACL_TOKEN: randomUUID() } };
    },
    2,
    /credentials\.json in the data directory and the bootstrap settings name different credentials/,
  ],
  'a missing import file [SRV-52]': [
    async () => ({ args: ['--import-file', 'nowhere.jsonl'] }),
    1,
    /^--import-file: cannot read 'nowhere\.jsonl': ENOENT: no such file or directory, open 'nowhere\.jsonl'$/,
  ],
  'an import file that is not an export [SRV-52]': [
    async (file) => ({ args: ['--import-file', await file('export.jsonl', 'hello\n')] }),
    1,
    /^--import-file: '.*export\.jsonl' is not an export of Accord/,
  ],
};

describe('a start', { timeout: 240_000, concurrency: 2 }, () => {
  for (const [name, [prepare, exitCode, message]] of Object.entries(CASES)) {
    test(`exits with code ${exitCode} and one line for ${name} [SRV-35]`, async () => {
      await using directory = await temporaryDirectory();
      await using elsewhere = await temporaryDirectory();
      const file = async (at: string, content: string): Promise<string> => {
        const whole = path.join(at === 'credentials.json' ? directory.path : elsewhere.path, at);
        await writeFile(whole, content);
        return whole;
      };
      const [actualCode, actualMessage] = await failureOf({
        dataDirectory: directory.path,
        ...(await prepare(file)),
      });
      assert.match(actualMessage, message);
      assert.equal(actualCode, exitCode);
    });
  }

  for (const setting of ['http.address', 'peering.address', 'dns.address']) {
    test(`exits with code 1 and names ${setting} if another process uses the port [SRV-55, SRV-54] [SRV-116]`, async () => {
      await using directory = await temporaryDirectory();
      const other = createServer().listen(0, '127.0.0.1');
      // Not awaited, because the readiness probe may have an open connection to this listener.
      using _closing = { [Symbol.dispose]: () => void other.close() };
      await once(other, 'listening');
      const { port } = other.address() as { port: number };
      const settings = { [setting]: `127.0.0.1:${port}` };
      const failure = await failureOf({ dataDirectory: directory.path, settings });
      const why = 'the port is in use: stop the other process, or choose another port';
      assert.equal(existsSync(path.join(directory.path, 'credentials.json')), false, 'the start has changed nothing');
      assert.deepEqual(failure, [1, `${setting}: cannot listen on 127.0.0.1:${port}: ${why}`]);
    });
  }

  test('exits with code 1 and names dns.address if another process uses the port over UDP [SRV-116]', async () => {
    await using directory = await temporaryDirectory();
    const other = createSocket('udp4').bind(0, '127.0.0.1');
    using _closing = { [Symbol.dispose]: () => void other.close() };
    await once(other, 'listening');
    const { port } = other.address();
    const settings = { 'dns.address': `127.0.0.1:${port}` };
    const failure = await failureOf({ dataDirectory: directory.path, settings });
    const why = 'the port is in use: stop the other process, or choose another port';
    assert.equal(existsSync(path.join(directory.path, 'credentials.json')), false, 'the start has changed nothing');
    assert.deepEqual(failure, [1, `dns.address: cannot listen on 127.0.0.1:${port}: ${why}`]);
  });

  test('exits with code 2 if cluster.datacenter was changed, and names the value to set [SRV-33]', async () => {
    await using directory = await temporaryDirectory();
    const options = { dataDirectory: directory.path };
    await using first = await startServer({ ...options, settings: { 'cluster.datacenter': 'east' } });
    assert.equal(await first.stop(), 0);
    const message = `cluster.datacenter is 'west', but this cluster was created as 'east': it is fixed at the first start; set it back`;
    assert.deepEqual(await failureOf({ ...options, settings: { 'cluster.datacenter': 'west' } }), [2, message]);
    const file = path.join(directory.path, 'export.jsonl');
    await writeFile(file, '{"format":"accord-export"}\n');
    const [code, line] = await failureOf({ ...options, args: ['--import-file', file] });
    assert.equal(code, 1, line);
    await using again = await startServer(options);
    assert.equal((await again.request('GET', '/v1/partitions?dc=east')).status, 200, 'a default counts as unset');
  });
});
