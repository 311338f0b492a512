/** What a whole server does when it is told to stop, or to read its settings again. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { startEtcd } from '../support/process/etcd.ts';
import { startEtcdServer } from '../support/process/etcd-server.ts';
import { untilHeld } from '../support/process/held-queries.ts';
import { type Server, startServer } from '../support/process/server.ts';
import { startProxy } from '../support/proxy.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** A bare connection to the server. */
async function dial(server: Server): Promise<Socket> {
  const socket = connect(Number(new URL(server.address).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Begins a request whose body comes later. Resolves when the server has read its head: a mere connection may wait unseen. */
async function begin(socket: Socket, head: string): Promise<void> {
  socket.write(`${head}Expect: 100-continue\r\n\r\n`);
  const [told] = (await once(socket, 'data')) as [Buffer];
  assert.equal(told.toString(), 'HTTP/1.1 100 Continue\r\n\r\n');
}

/** Everything that comes until the other side closes. */
async function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString();
  return text;
}

/** Waits until the server takes no connection any more: it says that it stops a moment before it does. */
const untilClosed = (server: Server) =>
  until('nobody new is let in', async () => {
    try {
      (await dial(server)).on('error', () => undefined).destroy();
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    }
  });

const isStopping = (server: Server) => until('it stops', () => server.log().includes('"msg":"stopping"'));

describe('a server that is told to stop', { timeout: 240_000, concurrency: 2 }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`by ${signal}: answers what waits with what there is, closes connections, and ends with 0`, async () => {
      await using server = await startServer();
      const partitions = await server.request('GET', '/v1/partitions');
      const index = partitions.headers['x-service-index'];
      // More than one slice of answers.
      const held = Array.from({ length: 300 }, () => server.request('GET', `/v1/partitions?index=${index}&wait=5m`));
      const idle = await dial(server);
      idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      await once(idle, 'data');
      await untilHeld(server, held.length);
      const ended = server.stop(signal);
      for (const { status, text, headers } of await Promise.all(held)) {
        assert.deepEqual([status, text, headers.connection], [200, partitions.text, 'close']);
        assert.equal(headers['x-service-index'], index);
      }
      assert.equal(await readToEnd(idle), '', 'an idle connection is closed');
      assert.equal(await ended, 0);
    });
  }

  test('takes a request whose body is still coming, and nobody new', async () => {
    await using server = await startServer();
    const body = JSON.stringify({ Description: 'finished' });
    const socket = await dial(server);
    const head = `PUT /v1/partition/late HTTP/1.1\r\nHost: x\r\nX-Service-Token: ${server.token}\r\n`;
    await begin(socket, `${head}Content-Length: ${body.length}\r\n`);
    socket.write(body.slice(0, 5));
    const ended = server.stop();
    await untilClosed(server);
    socket.write(body.slice(5));
    const answer = await readToEnd(socket);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(answer, /\r\nConnection: close\r\n/);
    assert.match(answer, /"Description":"finished"/);
    assert.equal(await ended, 0);
  });

  test('ends with 0 after shutdown.grace, whoever still holds a request back', async () => {
    await using server = await startServer({ settings: { 'shutdown.grace': '1s' } });
    const slow = await dial(server);
    await begin(slow, 'PUT /v1/partition/never HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n');
    slow.on('error', () => undefined);
    const silent = await dial(server);
    silent.on('error', () => undefined);
    await untilConnections(server, 3);
    assert.equal(await server.stop(), 0);
  });

  test('ends at once at a second signal', async () => {
    await using server = await startServer({ settings: { 'shutdown.grace': '1h' } });
    const slow = await dial(server);
    await begin(slow, 'PUT /v1/partition/never HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n');
    slow.on('error', () => undefined);
    const ended = server.stop();
    await isStopping(server);
    server.process.kill('SIGTERM');
    await ended;
    assert.equal(server.process.signalCode, 'SIGTERM');
  });
});

describe('a server on etcd that is told to stop', {
  skip: skipWithout('etcd'),
  timeout: 240_000,
  concurrency: 2,
}, () => {
  test('with a write under way: answers it, and ends with 0', async () => {
    await using etcd = await startEtcd();
    await using way = await startProxy(etcd.first.port);
    await using server = await startEtcdServer({ endpoints: [way.url] });
    way.silence();
    const written = server.request('PUT', '/v1/partition/late', { body: {} });
    await untilConnections(server, 2);
    const ended = server.stop();
    await isStopping(server);
    way.heal();
    const { status, text } = await written;
    assert.equal(status, 200, text);
    assert.equal(await ended, 0);
    await using next = await startEtcdServer({ endpoints: etcd.urls });
    const read = await next.request('GET', '/v1/partition/late', { token: server.token });
    assert.deepEqual([read.status, read.text], [200, text]);
  });

  test('with a write that etcd never answers: ends with 0 after shutdown.grace', async () => {
    await using etcd = await startEtcd();
    await using way = await startProxy(etcd.first.port);
    await using server = await startEtcdServer({ endpoints: [way.url], settings: { 'shutdown.grace': '1s' } });
    way.silence();
    const written = server.request('PUT', '/v1/partition/never', { body: {} }).catch(({ code }) => code);
    await untilConnections(server, 2);
    assert.equal(await server.stop(), 0);
    assert.equal(await written, 'ECONNRESET');
  });

  test('before etcd was there, or while it is silent: ends with 0', async () => {
    await using silent = await startProxy(1);
    silent.silence();
    for (const endpoint of [`http://127.0.0.1:${await freePort()}`, silent.url]) {
      await using server = await startEtcdServer({ endpoints: [endpoint], unready: true });
      assert.equal((await server.request('GET', '/v1/partitions')).status, 503);
      assert.equal(await server.stop(), 0);
      assert.match(server.log(), /"msg":"stopping"/);
    }
  });

  test('in the middle of its start: ends with 0', async () => {
    await using etcd = await startEtcd();
    await using way = await startProxy(etcd.first.port);
    way.delay(20);
    for (const afterMs of [0, 50, 100, 200, 300]) {
      await using server = await startEtcdServer({ endpoints: [way.url], unready: true, name: `n${afterMs}` });
      await delay(afterMs);
      assert.equal(await server.stop(), 0, server.log());
    }
  });
});

describe('SIGHUP', { timeout: 240_000 }, () => {
  test('reads log level and rate limit again, tells what needs a start, and keeps what is in force when the file is bad', async () => {
    await using directory = await temporaryDirectory();
    const file = path.join(directory.path, 'accord.yaml');
    await writeFile(file, 'log.level: info\n');
    await using server = await startServer({ dataDirectory: directory.path });
    const hangUp = async (settings: string, told: string): Promise<void> => {
      await writeFile(file, settings);
      server.process.kill('SIGHUP');
      await until(told, () => server.log().includes(told));
    };
    const debugLines = (): number =>
      server
        .log()
        .split('\n')
        .filter((line) => line.includes('"level":"debug"')).length;

    await server.request('GET', '/v1/partitions');
    assert.equal(debugLines(), 0);
    await hangUp('log.level: debug\n', '"changed":["log.level"]');
    await server.request('GET', '/v1/partitions');
    await until('requests are logged', () => debugLines() > 0);

    await hangUp('log.level: loud\n', 'those in force stay: log.level from ./accord.yaml:1 is \\"loud\\"');
    await hangUp('log.level: debug\naudit.retention: 1h\n', '"restartNeeded":["audit.retention"]');
    assert.equal((await server.request('GET', '/v1/partitions')).status, 200);
    const limit = async (): Promise<string | string[] | undefined> =>
      (await server.request('GET', '/api/v2/account/details', { token: null })).headers['x-ratelimit-limit'];
    assert.equal(await limit(), '30');
    await hangUp('log.level: debug\nteam-access.rate-limit: 7\n', '"changed":["team-access.rate-limit"]');
    assert.equal(await limit(), '7');
    assert.equal(await server.stop(), 0);
  });
});

/** Waits until the server has as many connections; it counts the one that asks. */
async function untilConnections(server: Server, count: number): Promise<void> {
  await until(`${count} connections`, async () => {
    const { text } = await server.request('GET', '/metrics', { token: null });
    return Number(/\naccord_http_connections (\d+)\n/.exec(text)?.[1]) >= count;
  });
}
