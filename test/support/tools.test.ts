import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { findTool, SKIP_VARIABLE, skipWithout, toolPath, unpackFolder } from './tools.ts';

describe('tools', () => {
  const before = { ...process.env };
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'accord-tools-'));
    Object.assign(process.env, { PATH: join(folder, 'bin'), XDG_CACHE_HOME: join(folder, 'cache') });
    delete process.env[SKIP_VARIABLE];
  });

  afterEach(() => {
    Object.assign(process.env, before);
    rmSync(folder, { recursive: true });
  });

  function place(path: string, mode: number): string {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '', { mode });
    return path;
  }

  it('finds a tool on the PATH before the cache folder', () => {
    const unpacked = place(join(unpackFolder('etcd'), 'usr/bin/etcd'), 0o755);
    assert.equal(toolPath('etcd'), unpacked);
    const onPath = place(join(folder, 'bin/etcd'), 0o755);
    assert.equal(toolPath('etcd'), onPath);
  });

  it('reports a tool as missing when its file is not executable', () => {
    place(join(folder, 'bin/etcd'), 0o644);
    assert.equal(findTool('etcd'), undefined);
    assert.throws(() => toolPath('etcd'), /npm test fetches it/);
  });

  it('unpacks tools below the cache folder', () => {
    assert.equal(unpackFolder('etcd'), join(folder, 'cache/accord-tools/etcd'));
  });

  it('skips the tools that the variable names, and rejects an unknown name', () => {
    assert.equal(skipWithout('etcd'), false);
    process.env[SKIP_VARIABLE] = ' etcd ,';
    assert.equal(skipWithout('etcd'), 'ACCORD_TEST_SKIP names etcd');
    process.env[SKIP_VARIABLE] = 'ectd';
    assert.throws(() => skipWithout('etcd'), /names "ectd": want names of etcd/);
  });
});
