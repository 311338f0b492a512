/** A whole server whose disk is full. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { ShownAuditEntry } from '../../src/audit/read-audit.ts';
import type { Answer, Server } from '../support/process/server.ts';
import { StartError, startServer } from '../support/process/server.ts';
import { skipWithoutMounts, smallDisk } from '../support/process/small-disk.ts';

const asProblem = { headers: { accept: 'application/problem+json' } };
/** Large, so that every write needs new pages of the disk. */
const LARGE = { Description: 'x'.repeat(1_000) };

const makeToken = (server: Server): Promise<Answer> =>
  server.request('PUT', '/v1/acl/token', { body: LARGE, ...asProblem });

/** Writes until one is refused; the disk may still have had a little room in pages that were there. */
async function writeUntilRefused(server: Server): Promise<Answer> {
  for (let count = 0; count < 1_000; count += 1) {
    const answer = await makeToken(server);
    if (answer.status !== 200) return answer;
  }
  throw new Error('nothing was refused');
}

const countTokens = async (server: Server): Promise<number> =>
  (await server.request('GET', '/v1/acl/tokens')).json<unknown[]>().length;

describe('a disk that is full', { skip: skipWithoutMounts, timeout: 60_000, concurrency: 2 }, () => {
  test('refuses writes in clear words, reads go on, and writes too once there is room', async () => {
    await using disk = await smallDisk(8);
    // The log lies on the same disk, as it does on many machines.
    const logFile = path.join(disk.path, 'log');
    const stderr = openSync(logFile, 'a');
    await using server = await startServer({ dataDirectory: disk.path, stderr, settings: { 'log.level': 'debug' } });
    closeSync(stderr);
    for (let count = 0; count < 10; count += 1) assert.equal((await makeToken(server)).status, 200);
    disk.fill();
    const refused = await writeUntilRefused(server);
    const { code, detail } = refused.json<{ code: string; detail: string }>();
    assert.deepEqual([refused.status, code], [503, 'store-full']);
    assert.match(detail, /disk .* is full: nothing was written/);
    const many = await Promise.all(Array.from({ length: 20 }, () => makeToken(server)));
    assert.deepEqual([...new Set(many.map(({ status }) => status))], [503]);
    const count = await countTokens(server);
    assert.equal((await server.request('GET', '/readyz', { token: null })).status, 200);
    assert.equal((await server.request('GET', '/v1/audit')).status, 200);

    disk.free();
    assert.equal((await makeToken(server)).status, 200);
    assert.equal(await countTokens(server), count + 1, 'what was refused left nothing behind');
    const audit = (await server.request('GET', '/v1/audit?limit=10000')).json<ShownAuditEntry[]>();
    assert.equal(audit.filter(({ Type }) => Type === 'acl-token').length, count + 1);
    assert.equal(await server.stop(), 0);
    assert.match(readFileSync(logFile, 'utf8'), /"msg":"stopping"/);

    await using again = await startServer({ dataDirectory: disk.path });
    assert.equal(await countTokens(again), count + 1);
  });

  test('is survived by kill -9: the next start has what was acknowledged, and serves it while the disk is full', async () => {
    await using disk = await smallDisk(8);
    const server = await startServer({ dataDirectory: disk.path });
    await makeToken(server);
    disk.fill();
    await writeUntilRefused(server);
    const count = await countTokens(server);
    await server.stop('SIGKILL');
    await using again = await startServer({ dataDirectory: disk.path });
    assert.equal(await countTokens(again), count);
    assert.equal((await writeUntilRefused(again)).status, 503);
    disk.free();
    assert.equal((await makeToken(again)).status, 200);
  });

  test('lets a first start fail with a line, and leaves nothing that stops the next one', async () => {
    await using disk = await smallDisk(1);
    disk.fill();
    await assert.rejects(startServer({ dataDirectory: disk.path }), (error) => {
      assert.ok(error instanceof StartError);
      assert.equal(error.exitCode, 1);
      assert.equal(error.log.trim().split('\n').length, 1, error.log);
      assert.match(error.log, /full|no space/i);
      return true;
    });
    disk.free();
    await using server = await startServer({ dataDirectory: disk.path });
    assert.equal(await countTokens(server), 1);
  });
});
