/** The first start of servers: the first credentials and where their secrets are stored. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startEtcd } from '../support/process/etcd.ts';
import { type Server, type ServerOptions, StartError, startServer } from '../support/process/server.ts';
import { skipWithout } from '../support/tools.ts';

interface CredentialsFile {
  readonly address: string;
  readonly peering: { readonly accessorId: string; readonly secretId: string };
  readonly teamAccess: { readonly username: string; readonly token: string };
}

let folder = '';
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'accord-first-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const directory = (): Promise<string> => mkdtemp(path.join(folder, 'data-'));
const credentialsOf = async (dataDirectory: string): Promise<CredentialsFile> =>
  JSON.parse(await readFile(path.join(dataDirectory, 'credentials.json'), 'utf8')) as CredentialsFile;
const self = (server: Server, token: string) => server.request('GET', '/v1/acl/token/self', { token });

/** Starts a server that must fail. @returns the error */
async function failedStart(options: ServerOptions): Promise<StartError> {
  try {
    await using server = await startServer(options);
    return assert.fail(`it started: ${server.log()}`);
  } catch (error) {
    assert.ok(error instanceof StartError, String(error));
    return error;
  }
}

test('only one of two servers that start concurrently on an empty etcd keeps its credentials file [SRV-43, ETCD-21]', {
  skip: skipWithout('etcd'),
}, async () => {
  await using etcd = await startEtcd();
  for (const round of [1, 2, 3]) {
    const started = await Promise.all(
      ['a', 'b'].map((name) => {
        const prefix = { store: 'etcd', 'etcd.endpoints': etcd.first.url, 'etcd.prefix': `round-${round}/` };
        return startServer({ settings: { ...prefix, 'node.name': name } });
      }),
    );
    await using servers = new AsyncDisposableStack();
    for (const server of started) servers.use(server);
    const tokens = started.map(({ token }) => token).filter((token) => token !== '');
    assert.equal(tokens.length, 1);
    for (const server of started) {
      assert.equal((await self(server, tokens[0] ?? '')).status, 200);
      const list = await server.request('GET', '/v1/acl/tokens', { token: tokens[0] ?? '' });
      assert.equal(list.json<unknown[]>().length, 1);
      assert.deepEqual(
        (await readdir(server.dataDirectory)).filter((name) => name.endsWith('.tmp')),
        [],
      );
    }
  }
});

describe('the bootstrap settings', () => {
  const aclToken = 'b1f6a8f0-5a0c-4a53-9f43-6f1c8f0b7a11';
  const adminToken = `${'A'.repeat(14)}.atlasv1.${'b'.repeat(67)}`;

  test('set the first credentials by file or variable, on an empty state only [SRV-41, ACL-7, SRV-37]', async () => {
    const dataDirectory = await directory();
    const file = path.join(folder, 'acl-token');
    await writeFile(file, `${aclToken}\n`);
    const environment = { ACCORD_BOOTSTRAP_ADMIN_TOKEN: adminToken };
    {
      await using server = await startServer({
        dataDirectory,
        environment,
        settings: { 'bootstrap.acl-token-file': file },
      });
      const { peering, teamAccess, address } = await credentialsOf(dataDirectory);
      assert.deepEqual([peering.secretId, teamAccess.token, address], [aclToken, adminToken, server.address]);
      assert.equal((await self(server, aclToken)).status, 200);
      assert.equal((await self(server, aclToken.toUpperCase())).status, 200, 'UUIDs match without regard to case');
    }
    const other = { ACCORD_BOOTSTRAP_ACL_TOKEN: 'c1f6a8f0-5a0c-4a53-9f43-6f1c8f0b7a11' };
    await using again = await startServer({ dataDirectory, environment: other });
    assert.equal((await self(again, aclToken)).status, 200);
    assert.equal((await self(again, other.ACCORD_BOOTSTRAP_ACL_TOKEN)).status, 403);
  });

  test('stop the start with exit code 2 if a token is malformed [SRV-41, SRV-84]', async () => {
    const { exitCode, log } = await failedStart({ environment: { ACCORD_BOOTSTRAP_ACL_TOKEN: 'secret' } });
    assert.equal(exitCode, 2);
    assert.ok(!log.includes('"secret"'), 'the log does not contain the value');
  });
});

test('a start commits the credentials in the file of a start that was killed before its commit [SRV-39]', async () => {
  const dataDirectory = await directory();
  // The file that a server leaves if it is killed right after it has written the file.
  const content: CredentialsFile = {
    address: 'http://127.0.0.1:8500',
    peering: { accessorId: 'b1f6a8f0-5a0c-4a53-9f43-6f1c8f0b7a11', secretId: 'c1f6a8f0-5a0c-4a53-9f43-6f1c8f0b7a11' },
    teamAccess: { username: 'admin', token: `${'A'.repeat(14)}.atlasv1.${'b'.repeat(67)}` },
  };
  await writeFile(path.join(dataDirectory, 'credentials.json'), JSON.stringify(content), { mode: 0o600 });
  await using server = await startServer({ dataDirectory });
  const { AccessorID } = (await self(server, content.peering.secretId)).json<{ AccessorID: string }>();
  assert.equal(AccessorID, content.peering.accessorId);
  assert.deepEqual(await credentialsOf(dataDirectory), content);
});

describe('a start fails with exit code 2 and one line', () => {
  test('if credentials.json has another form, and does not change the file [SRV-40]', async () => {
    const dataDirectory = await directory();
    const file = path.join(dataDirectory, 'credentials.json');
    await writeFile(file, 'mine');
    const { exitCode, log } = await failedStart({ dataDirectory });
    assert.equal(exitCode, 2);
    assert.match(log, /"reason":"'[^"]*credentials\.json' exists and contains no credentials of Accord: move it away/);
    assert.equal(log.match(/"level":"error"/g)?.length, 1, log);
    assert.equal(await readFile(file, 'utf8'), 'mine');
  });

  test('if cluster.datacenter differs from the first start [SRV-33]', async () => {
    const dataDirectory = await directory();
    await (await startServer({ dataDirectory })).stop();
    const { exitCode, log } = await failedStart({ dataDirectory, settings: { 'cluster.datacenter': 'dc2' } });
    assert.equal(exitCode, 2);
    assert.match(log, /"reason":"cluster\.datacenter is 'dc2', but this cluster was created as 'dc1': it is fixed/);
    await using server = await startServer({ dataDirectory });
    assert.equal((await self(server, server.token)).status, 200);
  });
});

test('--recover creates a second pair of credentials, keeps the old file, and logs a warning [SRV-45]', async () => {
  const dataDirectory = await directory();
  await (await startServer({ dataDirectory })).stop();
  const old = await credentialsOf(dataDirectory);
  await using server = await startServer({ dataDirectory, args: ['--recover'] });
  const next = await credentialsOf(dataDirectory);
  assert.notEqual(next.peering.secretId, old.peering.secretId);
  for (const { peering } of [old, next]) assert.equal((await self(server, peering.secretId)).status, 200);
  const kept = (await readdir(dataDirectory)).filter((name) => /^credentials\..+\.json$/.test(name));
  assert.equal(kept.length, 1);
  assert.deepEqual(JSON.parse(await readFile(path.join(dataDirectory, kept[0] ?? ''), 'utf8')), old);
  assert.match(server.log(), /"level":"warn".*new credentials created/);
  const audit = await server.request('GET', '/v1/audit?limit=2', { token: next.peering.secretId });
  assert.deepEqual(
    audit.json<{ Action: string }[]>().map(({ Action }) => Action),
    ['recover', 'recover'],
  );
});

test('the database and the log contain no secret of credentials.json [ACL-8, SRV-74]', async () => {
  const dataDirectory = await directory();
  const secrets: string[] = [];
  let log: string;
  {
    await using server = await startServer({ dataDirectory, settings: { 'log.level': 'trace' } });
    const { peering, teamAccess } = await credentialsOf(dataDirectory);
    secrets.push(peering.secretId, teamAccess.token);
    for (let i = 0; i < 20; i++) {
      const made = await server.request('PUT', '/v1/acl/token', { body: { Description: `token ${i}` } });
      const { AccessorID, SecretID } = made.json<{ AccessorID: string; SecretID: string }>();
      secrets.push(SecretID);
      await self(server, SecretID);
      await server.request('GET', `/v1/acl/token/self?token=${SecretID}`, { token: null });
      await server.request('GET', '/v1/acl/tokens', { token: SecretID });
      if (i % 2 === 0) await server.request('DELETE', `/v1/acl/token/${AccessorID}`);
    }
    await server.stop();
    log = server.log();
  }
  const files = await readdir(dataDirectory, { recursive: true, withFileTypes: true });
  const contents = files
    .filter((file) => file.isFile() && file.name !== 'credentials.json')
    .map(async (file) => [file.name, await readFile(path.join(file.parentPath, file.name), 'latin1')] as const);
  const searched = [...(await Promise.all(contents)), ['log', log] as const];
  assert.ok(
    searched.some(([, text]) => text.includes('token 19')),
    'the search covers the database',
  );
  assert.match(log, /"route":"\/v1\/acl\/token\/self"/);
  for (const [name, text] of searched) {
    assert.deepEqual(
      secrets.filter((secret) => text.includes(secret)),
      [],
      name,
    );
  }
});
