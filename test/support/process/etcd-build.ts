/** Builds a version of etcd that Debian does not have. Its server is a Go module. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { unpackFolder } from '../tools.ts';

/** The version that tests run against, besides that of Debian. */
export const ETCD_VERSION = '3.6.16';

const MAIN = `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`;

/** Returns why etcd cannot be built, or `undefined` if Go is installed. */
export function missingGo(): string | undefined {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return `etcd ${ETCD_VERSION} is not tested: it is built with Go, which is not installed`;
  }
}

/** Builds etcd once and keeps it in the cache folder of the tools. @returns the folder with the program `etcd` */
export function builtEtcdFolder(): string {
  const folder = `${unpackFolder('etcd')}-${ETCD_VERSION}`;
  try {
    accessSync(join(folder, 'etcd'), constants.X_OK);
    return folder;
  } catch {
    mkdirSync(dirname(folder), { recursive: true });
  }
  const work = mkdtempSync(join(tmpdir(), 'accord-etcd-build-'));
  try {
    writeFileSync(join(work, 'main.go'), MAIN);
    const go = (...args: string[]): void =>
      void execFileSync('go', args, { cwd: work, stdio: ['ignore', 'pipe', 'pipe'] });
    go('mod', 'init', 'etcd');
    go('get', `go.etcd.io/etcd/server/v3@v${ETCD_VERSION}`);
    mkdirSync(join(work, 'out'));
    go('build', '-buildvcs=false', '-o', join(work, 'out', 'etcd'), '.');
    rmSync(folder, { recursive: true, force: true });
    renameSync(join(work, 'out'), folder);
    return folder;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
