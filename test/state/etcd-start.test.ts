/** Tests of starts on an etcd that something is wrong with: credentials, prefixes, an older state, certificates. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { EPOCH_STEP } from '../../src/state/engine/engine.ts';
import { createEtcdClient } from '../../src/state/engine/etcd/client/client.ts';
import type { Tls } from '../../src/state/engine/etcd/client/transport.ts';
import { createKeys } from '../../src/state/engine/etcd/keys.ts';
import { createHousekeeping } from '../../src/state/engine/etcd/node/housekeeping.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { startEtcd } from '../support/process/etcd.ts';
import { startEtcdServer } from '../support/process/etcd-server.ts';
import { openEtcdNode, put, testOptions } from '../support/state/etcd-node.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

const skip = skipWithout('etcd');

describe('a start on etcd', { skip, timeout: 120_000 }, () => {
  test('fails at once without credentials, with a wrong password, and without permissions [ETCD-86]', async () => {
    await using etcd = await startEtcd();
    for (const name of ['root', 'limited']) await etcd.call('/v3/auth/user/add', { name, password: 'secret' });
    for (const name of ['root', 'reader']) await etcd.call('/v3/auth/role/add', { name });
    await etcd.call('/v3/auth/user/grant', { user: 'root', role: 'root' });
    await etcd.call('/v3/auth/enable', {});
    const open = (credentials?: { username: string; password: string }) =>
      openEtcdNode({ endpoints: etcd.urls, name: 'a', credentials });
    await assert.rejects(open(), /etcd asks for credentials .*: set etcd\.username and etcd\.password-file/);
    await assert.rejects(
      open({ username: 'root', password: 'wrong' }),
      /authentication failed.*: check etcd\.username and etcd\.password-file/,
    );
    await assert.rejects(
      open({ username: 'limited', password: 'secret' }),
      /permission denied: grant etcd\.username read and write access to etcd\.prefix/,
    );
  });

  test('trusts the CA certificates of the system, which `SSL_CERT_FILE` replaces [ETCD-91]', async () => {
    await using etcd = await startEtcd({ tls: true });
    await using directory = await temporaryDirectory();
    const caFile = path.join(directory.path, 'system.pem');
    await writeFile(caFile, etcd.first.certificate());
    await using server = await startEtcdServer({ endpoints: etcd.urls, environment: { SSL_CERT_FILE: caFile } });
    assert.equal((await server.request('GET', '/v1/acl/token/self')).status, 200);
  });

  test('fails if its prefix contains that of another cluster, or is inside it [ETCD-84]', async () => {
    await using etcd = await startEtcd();
    const open = (prefix: string) => openEtcdNode({ endpoints: etcd.urls, name: 'a', prefix });
    await using inner = await open('accord/test/');
    await inner.write(() => [put('x', '1')]);
    await assert.rejects(open('accord/'), /etcd\.prefix accord\/ overlaps with the prefix accord\/test\/ of another/);
    await assert.rejects(open('accord/test/deep/er/'), /overlaps with the prefix accord\/test\//);
    await using _beside = await open('accord/test-2/');
    await etcd.call('/v3/kv/put', {
      key: Buffer.from('other/settings/head').toString('base64'),
      value: Buffer.from('of another program').toString('base64'),
    });
    await using _around = await open('other/');
    await using _folder = await open('third/gen/');
    await assert.rejects(open('third/'), /overlaps with the prefix third\/gen\//);
  });

  test('reads the room in the quota, which etcd reports from 3.6 on [ETCD-88] [STATE-119]', async () => {
    const MIB = 2 ** 20;
    await using etcd = await startEtcd({ flags: [`--quota-backend-bytes=${64 * MIB}`] });
    await using node = await openEtcdNode({ endpoints: etcd.urls, quotaBytes: 100 * MIB });
    const { dbSizeQuota } = await etcd.call('/v3/maintenance/status', {});
    const space = await node.engine.space(AbortSignal.timeout(10_000));
    assert.equal(space?.reserveBytes, (dbSizeQuota === undefined ? 100 * MIB : 64 * MIB) / 10);
    assert.ok(space.freeBytes > 9 * space.reserveBytes, `${space.freeBytes} bytes`);
  });

  test('logs a compaction that etcd rejects, with the role that it needs [ETCD-81]', async () => {
    const logged: string[] = [];
    const compact = async () => {
      const { ConnectError, Code } = await import('@connectrpc/connect');
      throw new ConnectError('etcdserver: permission denied', Code.PermissionDenied);
    };
    await using etcd = await startEtcd();
    await using _node = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    const client = createEtcdClient(testOptions({ endpoints: etcd.urls }));
    const clock = createFakeClock();
    const housekeep = createHousekeeping({
      client: {
        ...client,
        retry: (call, signal, timeoutMs) =>
          client.retry(
            (endpoint, options) => call({ ...endpoint, kv: { ...endpoint.kv, compact } }, options),
            signal,
            timeoutMs,
          ),
      },
      keys: createKeys('accord/', new Set()),
      clock,
      compactMs: 60_000,
      log: (level, message, fields = {}) => void logged.push(`${level}: ${message}: ${fields['remedy']}`),
    });
    for (let minutes = 0; minutes < 2; minutes++) {
      await housekeep(AbortSignal.timeout(30_000));
      clock.advance(60_000);
    }
    client.close();
    assert.match(logged.join('\n'), /^warn: etcd compaction rejected: give the user of etcd\.username the role root/);
  });

  test('with an index below the one that this server returned before starts a new epoch [STATE-118]', async () => {
    await using data = await temporaryDirectory();
    const floorFile = path.join(data.path, 'index-floor.json');
    await using etcd = await startEtcd();
    const start = () => startEtcdServer({ endpoints: etcd.urls, dataDirectory: data.path });
    const indexOf = (headers: Readonly<Record<string, unknown>>): number => Number(headers['x-service-index']);
    let token = '';
    {
      await using server = await start();
      token = server.token;
      await server.stop();
    }
    await etcd.first.stop();
    etcd.first.saveData();
    await etcd.first.start();
    let served = 0;
    {
      await using server = await start();
      for (let i = 0; i < 3; i++) await server.request('PUT', '/v1/acl/token', { token, body: {} });
      served = indexOf((await server.request('GET', '/v1/acl/tokens', { token })).headers);
      await server.stop();
      assert.equal(JSON.parse(readFileSync(floorFile, 'utf8')).index >= served, true);
    }
    await etcd.first.stop();
    etcd.first.restoreData();
    await etcd.first.start();
    await using server = await start();
    const { headers } = await server.request('GET', '/v1/acl/tokens', { token });
    assert.ok(indexOf(headers) >= served + EPOCH_STEP, `${indexOf(headers)} after ${served}`);
    await server.stop();
    await writeFile(floorFile, '{"damaged');
    await using again = await start();
    assert.match(again.log(), /index floor is unreadable/);
  });
});

describe('the certificates for etcd', { skip, timeout: 60_000 }, () => {
  test('are read for each new connection [ETCD-85]', async () => {
    await using etcd = await startEtcd({ tls: true });
    await using other = await startEtcd({ tls: true });
    const tls: { -readonly [Name in keyof Tls]: Tls[Name] } = { ca: other.first.certificate() };
    const opening = openEtcdNode({ endpoints: etcd.urls, name: 'a', tls });
    let isOpen = false;
    void opening.then(() => {
      isOpen = true;
    });
    await until('the etcd is rejected', () => true);
    assert.equal(isOpen, false);
    tls.ca = etcd.first.certificate();
    await using node = await opening;
    await node.write(() => [put('x', '1')]);
  });
});
