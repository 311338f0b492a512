/** A server whose disk is full. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { AuditEntryJson } from '../../src/audit/read-audit.ts';
import { type Answer, type Server, StartError, startServer } from '../support/process/server.ts';
import { mountSmallDisk, skipWithoutMount } from '../support/process/small-disk.ts';

const asProblem = { headers: { accept: 'application/problem+json' } };
/** The body is large, so that every write needs new pages of the disk. */
const LARGE = { Description: 'x'.repeat(1_000) };

const makeToken = (server: Server): Promise<Answer> =>
  server.request('PUT', '/v1/acl/token', { body: LARGE, ...asProblem });

/** Writes until a write is rejected. Existing pages of the database may have room for a few writes. */
async function writeUntilRejected(server: Server): Promise<Answer> {
  for (let count = 0; count < 1_000; count += 1) {
    const answer = await makeToken(server);
    if (answer.status !== 200) return answer;
  }
  throw new Error('no write was rejected');
}

const countTokens = async (server: Server): Promise<number> =>
  (await server.request('GET', '/v1/acl/tokens')).json<unknown[]>().length;

describe('a server with a full disk', { skip: skipWithoutMount, timeout: 60_000, concurrency: 2 }, () => {
  // Verifies [SQLITE-33].
  test('rejects writes with store-full and serves reads, and writes when space is free [V1-48, SRV-77]', async () => {
    await using disk = await mountSmallDisk(8);
    // The log is on the same disk, as on many machines.
    const logFile = path.join(disk.path, 'log');
    const stderr = openSync(logFile, 'a');
    await using server = await startServer({ dataDirectory: disk.path, stderr, settings: { 'log.level': 'debug' } });
    closeSync(stderr);
    for (let count = 0; count < 10; count += 1) assert.equal((await makeToken(server)).status, 200);
    disk.fill();
    const rejected = await writeUntilRejected(server);
    const { code, detail } = rejected.json<{ code: string; detail: string }>();
    assert.deepEqual([rejected.status, code], [507, 'store-full']);
    assert.match(detail, /disk .* is full: nothing was written/);
    const many = await Promise.all(Array.from({ length: 20 }, () => makeToken(server)));
    assert.deepEqual([...new Set(many.map(({ status }) => status))], [507]);
    const count = await countTokens(server);
    assert.equal((await server.request('GET', '/readyz', { token: null })).status, 200);
    assert.equal((await server.request('GET', '/v1/audit')).status, 200);

    disk.free();
    assert.equal((await makeToken(server)).status, 200);
    assert.equal(await countTokens(server), count + 1, 'a rejected write changes nothing');
    const audit = (await server.request('GET', '/v1/audit?limit=10000')).json<AuditEntryJson[]>();
    assert.equal(audit.filter(({ Type }) => Type === 'acl-token').length, count + 1);
    assert.equal(await server.stop(), 0);
    assert.match(readFileSync(logFile, 'utf8'), /"msg":"stopping"/);

    await using again = await startServer({ dataDirectory: disk.path });
    assert.equal(await countTokens(again), count + 1);
  });

  test('keeps acknowledged writes over kill -9, and serves them while the disk is full [SQLITE-34]', async () => {
    await using disk = await mountSmallDisk(8);
    const server = await startServer({ dataDirectory: disk.path });
    await makeToken(server);
    disk.fill();
    await writeUntilRejected(server);
    const count = await countTokens(server);
    await server.stop('SIGKILL');
    await using again = await startServer({ dataDirectory: disk.path });
    assert.equal(await countTokens(again), count);
    assert.equal((await writeUntilRejected(again)).status, 507);
    disk.free();
    assert.equal((await makeToken(again)).status, 200);
  });

  // Verifies [SQLITE-34].
  test('exits with code 1 in its first start, and the next start with free space succeeds [SRV-84]', async () => {
    await using disk = await mountSmallDisk(1);
    disk.fill();
    await assert.rejects(startServer({ dataDirectory: disk.path }), (error) => {
      assert.ok(error instanceof StartError);
      assert.equal(error.exitCode, 1);
      assert.equal(error.log.match(/"level":"error"/g)?.length, 1, error.log);
      assert.match(error.log, /full|no space/i);
      return true;
    });
    disk.free();
    await using server = await startServer({ dataDirectory: disk.path });
    assert.equal(await countTokens(server), 1);
  });
});
