/** Starts that must fail: one line that says what to do, and the exit code that fits. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { one, two } from '../../src/http/server/certificates.suite.ts';
import { type ServerOptions, StartError, startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** What a failing start told: in a line of the log, or in plain text when the settings are at fault. */
async function failureOf(options: ServerOptions): Promise<readonly [exitCode: number | null, told: string]> {
  try {
    await using server = await startServer(options);
    return [null, `it serves at ${server.address}`];
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const lines = error.log
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{"level":"info"'));
    assert.equal(lines.length, 1, error.log);
    const [line = ''] = lines;
    return [error.exitCode, line.startsWith('{') ? (JSON.parse(line) as { msg: string }).msg : line];
  }
}

/** Prepares what is wrong in a directory that a server may have used before. */
type Prepare = (file: (name: string, content: string) => Promise<string>) => Promise<Partial<ServerOptions>>;

const CASES: Readonly<Record<string, readonly [prepare: Prepare, exitCode: 1 | 2, told: RegExp]>> = {
  'a certificate with the key of another': [
    async (file) => ({
      settings: { 'http.tls-cert': await file('cert.pem', one.cert), 'http.tls-key': await file('key.pem', two.key) },
    }),
    2,
    /^accord: http\.tls-cert .*cert\.pem and http\.tls-key .*key\.pem: want a certificate and its private key in PEM/,
  ],
  'certificates of etcd that are none': [
    async (file) => ({
      settings: {
        store: 'etcd',
        'etcd.endpoints': 'https://127.0.0.1:1',
        'etcd.ca': await file('ca.pem', 'not a certificate'),
      },
    }),
    2,
    /^accord: etcd\.ca .*ca\.pem: want PEM files that fit together/,
  ],
  'a data key that is none': [
    async (file) => ({ settings: { 'data-key-file': await file('key', 'short') } }),
    2,
    /^accord: data-key-file: the file .*key does not hold what is wanted: want 32 bytes in base64/,
  ],
  'a bootstrap token that is none': [
    async (file) => ({ settings: { 'bootstrap.acl-token-file': await file('token', 'short') } }),
    2,
    /^accord: bootstrap\.acl-token-file: .* want a UUID/,
  ],
  'a credentials file of somebody else': [
    async (file) => {
      await file('credentials.json', '{"user": "me"}');
      return {};
    },
    2,
    /credentials\.json' is there and holds no credentials of Accord: move it away, it is never overwritten$/,
  ],
  'credentials set beforehand that are not those in the file': [
    async (file) => {
      const peering = { accessorId: randomUUID(), secretId: randomUUID() };
      const teamAccess = { username: 'admin', token: 'x' };
      await file('credentials.json', JSON.stringify({ address: 'http://127.0.0.1', peering, teamAccess }));
      return { environment: { ACCORD_BOOTSTRAP_ACL_TOKEN: randomUUID() } };
    },
    2,
    /credentials\.json in the data directory and the bootstrap settings name different credentials/,
  ],
  'an export that is not there': [
    async () => ({ args: ['--import-file', 'nowhere.jsonl'] }),
    1,
    /^--import-file: cannot read 'nowhere\.jsonl': ENOENT: no such file or directory, open 'nowhere\.jsonl'$/,
  ],
  'an export that is none': [
    async (file) => ({ args: ['--import-file', await file('export.jsonl', 'hello\n')] }),
    1,
    /^--import-file: '.*export\.jsonl' is not an export of Accord/,
  ],
};

describe('a start that must fail', { timeout: 240_000, concurrency: 2 }, () => {
  for (const [name, [prepare, exitCode, told]] of Object.entries(CASES)) {
    test(`because of ${name}: ends with ${exitCode} and one line`, async () => {
      await using directory = await temporaryDirectory();
      await using elsewhere = await temporaryDirectory();
      const file = async (at: string, content: string): Promise<string> => {
        const whole = path.join(at === 'credentials.json' ? directory.path : elsewhere.path, at);
        await writeFile(whole, content);
        return whole;
      };
      const [actualCode, actuallyTold] = await failureOf({
        dataDirectory: directory.path,
        ...(await prepare(file)),
      });
      assert.match(actuallyTold, told);
      assert.equal(actualCode, exitCode);
    });
  }

  for (const setting of ['http.address', 'peering.address', 'dns.address']) {
    test(`because ${setting} is taken: ends with 1 and names it`, async () => {
      await using directory = await temporaryDirectory();
      const other = createServer().listen(0, '127.0.0.1');
      // Not awaited: what waits for the server to be ready may have connected to this one.
      using _closing = { [Symbol.dispose]: () => void other.close() };
      await once(other, 'listening');
      const { port } = other.address() as { port: number };
      const settings = { [setting]: `127.0.0.1:${port}` };
      const failure = await failureOf({ dataDirectory: directory.path, settings });
      const why = 'another process listens there: end it, or choose another port';
      assert.deepEqual(failure, [1, `${setting}: cannot listen on 127.0.0.1:${port}: ${why}`]);
    });
  }

  test('because of what was decided at the first one: ends with 2 and says what to set back', async () => {
    await using directory = await temporaryDirectory();
    const options = { dataDirectory: directory.path };
    await using first = await startServer({ ...options, settings: { 'cluster.datacenter': 'east' } });
    assert.equal(await first.stop(), 0);
    const told = `cluster.datacenter is 'dc1', but this cluster was made as 'east': it is fixed at the first start; set it back`;
    assert.deepEqual(await failureOf(options), [2, told]);
    const file = path.join(directory.path, 'export.jsonl');
    await writeFile(file, '{"format":"accord-export"}\n');
    const [code, line] = await failureOf({ ...options, args: ['--import-file', file] });
    assert.equal(code, 1, line);
    await using again = await startServer({ ...options, settings: { 'cluster.datacenter': 'east' } });
    assert.equal((await again.request('GET', '/v1/partitions')).status, 200);
  });
});
