/** How a server handles SIGTERM, SIGINT and SIGHUP. */
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
import { type Server, startServer } from '../support/process/server.ts';
import { untilQueriesWait } from '../support/process/waiting-queries.ts';
import { startProxy } from '../support/proxy.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** Opens a TCP connection to the server. */
async function dial(server: Server): Promise<Socket> {
  const socket = connect(Number(new URL(server.address).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Sends the head of a request. Resolves when the server has read it and therefore has accepted the connection. */
async function sendHead(socket: Socket, head: string): Promise<void> {
  socket.write(`${head}Expect: 100-continue\r\n\r\n`);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  assert.equal(chunk.toString(), 'HTTP/1.1 100 Continue\r\n\r\n');
}

/** Reads until the server closes the connection. */
async function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString();
  return text;
}

/** Waits until the server rejects new connections, shortly after it logs `stopping`. */
const untilClosed = (server: Server) =>
  until('the listener is closed', async () => {
    try {
      (await dial(server)).on('error', () => undefined).destroy();
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    }
  });

const untilStopping = (server: Server) =>
  until('the server logs "stopping"', () => server.log().includes('"msg":"stopping"'));

describe('a server that receives a stop signal', { timeout: 240_000, concurrency: 2 }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`answers blocking queries after ${signal}, and exits with code 0 [SRV-79, SRV-80, V1-83]`, async () => {
      await using server = await startServer();
      const partitions = await server.request('GET', '/v1/partitions');
      const index = partitions.headers['x-service-index'];
      // More queries than the server answers in one turn of the event loop.
      const waiting = Array.from({ length: 300 }, () => server.request('GET', `/v1/partitions?index=${index}&wait=5m`));
      const idle = await dial(server);
      idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      await once(idle, 'data');
      await untilQueriesWait(server, waiting.length);
      const exitCode = server.stop(signal);
      for (const { status, text, headers } of await Promise.all(waiting)) {
        assert.deepEqual([status, text, headers.connection], [200, partitions.text, 'close']);
        assert.equal(headers['x-service-index'], index);
      }
      assert.equal(await readToEnd(idle), '', 'the server closes idle connections');
      assert.equal(await exitCode, 0);
    });
  }

  test('finishes a request whose body is incomplete, and rejects new connections [SRV-79, SRV-80]', async () => {
    await using server = await startServer();
    const body = JSON.stringify({ Description: 'finished' });
    const socket = await dial(server);
    const head = `PUT /v1/partition/late HTTP/1.1\r\nHost: x\r\nX-Service-Token: ${server.token}\r\n`;
    await sendHead(socket, `${head}Content-Length: ${body.length}\r\n`);
    socket.write(body.slice(0, 5));
    const exitCode = server.stop();
    await untilClosed(server);
    socket.write(body.slice(5));
    const answer = await readToEnd(socket);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(answer, /\r\nConnection: close\r\n/);
    assert.match(answer, /"Description":"finished"/);
    assert.equal(await exitCode, 0);
  });

  test('exits with code 0 after shutdown.grace while a request is incomplete [SRV-80]', async () => {
    await using server = await startServer({ settings: { 'shutdown.grace': '1s' } });
    const slow = await dial(server);
    await sendHead(slow, 'PUT /v1/partition/never HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n');
    slow.on('error', () => undefined);
    const silent = await dial(server);
    silent.on('error', () => undefined);
    await untilConnections(server, 3);
    assert.equal(await server.stop(), 0);
  });

  test('exits at once after a second signal [SRV-81]', async () => {
    await using server = await startServer({ settings: { 'shutdown.grace': '1h' } });
    const slow = await dial(server);
    await sendHead(slow, 'PUT /v1/partition/never HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n');
    slow.on('error', () => undefined);
    const stopped = server.stop();
    await untilStopping(server);
    server.process.kill('SIGTERM');
    await stopped;
    assert.equal(server.process.signalCode, 'SIGTERM');
  });
});

describe('a server on etcd that receives SIGTERM', {
  skip: skipWithout('etcd'),
  timeout: 240_000,
  concurrency: 2,
}, () => {
  test('answers a write in flight and exits with code 0 [SRV-79]', async () => {
    await using etcd = await startEtcd();
    await using proxy = await startProxy(etcd.first.port);
    await using server = await startEtcdServer({ endpoints: [proxy.url] });
    proxy.silence();
    const write = server.request('PUT', '/v1/partition/late', { body: {} });
    await untilConnections(server, 2);
    const exitCode = server.stop();
    await untilStopping(server);
    proxy.heal();
    const { status, text } = await write;
    assert.equal(status, 200, text);
    assert.equal(await exitCode, 0);
    await using next = await startEtcdServer({ endpoints: etcd.urls });
    const read = await next.request('GET', '/v1/partition/late', { token: server.token });
    assert.deepEqual([read.status, read.text], [200, text]);
  });

  test('exits with code 0 after shutdown.grace while etcd does not answer a write [SRV-80, SRV-82]', async () => {
    await using etcd = await startEtcd();
    await using proxy = await startProxy(etcd.first.port);
    await using server = await startEtcdServer({ endpoints: [proxy.url], settings: { 'shutdown.grace': '1s' } });
    proxy.silence();
    const write = server.request('PUT', '/v1/partition/never', { body: {} }).catch(({ code }) => code);
    await untilConnections(server, 2);
    assert.equal(await server.stop(), 0);
    assert.equal(await write, 'ECONNRESET');
  });

  test('exits with code 0 while etcd is unreachable or does not answer [SRV-82]', async () => {
    await using silent = await startProxy(1);
    silent.silence();
    for (const endpoint of [`http://127.0.0.1:${await freePort()}`, silent.url]) {
      await using server = await startEtcdServer({ endpoints: [endpoint], resolveWhenListening: true });
      assert.equal((await server.request('GET', '/v1/partitions')).status, 503);
      assert.equal(await server.stop(), 0);
      assert.match(server.log(), /"msg":"stopping"/);
    }
  });

  test('exits with code 0 during its start [SRV-82]', async () => {
    await using etcd = await startEtcd();
    await using proxy = await startProxy(etcd.first.port);
    proxy.delay(20);
    for (const afterMs of [0, 50, 100, 200, 300]) {
      await using server = await startEtcdServer({
        endpoints: [proxy.url],
        resolveWhenListening: true,
        name: `n${afterMs}`,
      });
      await delay(afterMs);
      assert.equal(await server.stop(), 0, server.log());
    }
  });
});

describe('SIGHUP', { timeout: 240_000 }, () => {
  test('reloads the log level and the rate limit, unless the settings are invalid [SRV-83]', async () => {
    await using directory = await temporaryDirectory();
    const file = path.join(directory.path, 'accord.yaml');
    await writeFile(file, 'log.level: info\n');
    await using server = await startServer({ dataDirectory: directory.path });
    const reload = async (settings: string, logText: string): Promise<void> => {
      await writeFile(file, settings);
      server.process.kill('SIGHUP');
      await until(logText, () => server.log().includes(logText));
    };
    const debugLines = (): number =>
      server
        .log()
        .split('\n')
        .filter((line) => line.includes('"level":"debug"')).length;

    await server.request('GET', '/v1/partitions');
    assert.equal(debugLines(), 0);
    await reload('log.level: debug\n', '"changed":["log.level"]');
    await server.request('GET', '/v1/partitions');
    await until('requests are logged', () => debugLines() > 0);

    await reload('log.level: loud\n', '"reason":"log.level from ./accord.yaml:1 is \\"loud\\"');
    await reload('log.level: debug\naudit.retention: 1h\n', '"restartNeeded":["audit.retention"]');
    assert.equal((await server.request('GET', '/v1/partitions')).status, 200);
    const limit = async (): Promise<string | string[] | undefined> =>
      (await server.request('GET', '/api/v2/account/details', { token: null })).headers['x-ratelimit-limit'];
    assert.equal(await limit(), '30');
    await reload('log.level: debug\nteam-access.rate-limit: 7\n', '"changed":["team-access.rate-limit"]');
    assert.equal(await limit(), '7');
    assert.equal(await server.stop(), 0);
  });
});

/** Waits until the server has at least `count` connections, including the one that reads the metrics. */
async function untilConnections(server: Server, count: number): Promise<void> {
  await until(`${count} connections`, async () => {
    const { text } = await server.request('GET', '/metrics', { token: null });
    return Number(/\naccord_http_connections (\d+)\n/.exec(text)?.[1]) >= count;
  });
}
