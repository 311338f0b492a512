/** Tests of servers that reach etcd through its own proxy, which joins the watches and the leases of its clients. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { startEtcd } from '../support/process/etcd.ts';
import { openEtcdNode, put } from '../support/state/etcd-node.ts';
import { skipWithout, toolPath } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** Long enough for a busy machine to send a keep-alive in time. */
const LEASE_MS = 4_000;
const WRITE_PAUSE_MS = 250;

interface RunningProxy extends AsyncDisposable {
  readonly url: string;
}

async function startProxy(endpoints: readonly string[]): Promise<RunningProxy> {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const flags = [`--endpoints=${endpoints.join(',')}`, `--listen-addr=${address}`, `--advertise-client-url=${address}`];
  const child = spawn(toolPath('etcd'), ['grpc-proxy', 'start', ...flags], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const isListening = async (): Promise<boolean> => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  };
  await until('the proxy listens', isListening);
  return {
    url: `http://${address}`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

describe('etcd grpc-proxy', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  test('carries commits, watches, and the leases of several servers [ETCD-87]', async () => {
    await using etcd = await startEtcd();
    await using proxy = await startProxy(etcd.urls);
    const open = (name: string) => openEtcdNode({ endpoints: [proxy.url], name, leaseMs: LEASE_MS });
    await using a = await open('a');
    await using b = await open('b');
    const startedAt = performance.now();
    let rounds = 0;
    // Longer than two leases, so that each has been kept alive.
    while (performance.now() - startedAt < 2.5 * LEASE_MS) {
      rounds++;
      await a.write(() => [put('x', `${rounds}`)]);
      await b.write(() => [put('y', `${rounds}`)]);
      await delay(WRITE_PAUSE_MS);
    }
    await until('both follow', () => a.rows.get('t/y') === `${rounds}` && b.rows.get('t/x') === `${rounds}`);
    assert.deepEqual(a.liveNodes.map(({ name }) => name).toSorted(), ['a', 'b']);
    assert.deepEqual([...a.breaks, ...b.breaks], []);
    assert.doesNotMatch([...a.log, ...b.log].join('\n'), /lease lost/);
  });
});
