import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { before, describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { importedInstance, importFrom, mustRegister } from '../../../test/support/peering/catalog-requests.ts';
import {
  decodeAnswer,
  encodeQuery,
  lengthPrefixed,
  query,
  readAnswers,
  startTestDns,
} from '../../../test/support/peering/dns.ts';
import { mustGenerate } from '../../../test/support/peering/peering-requests.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { QUERY_BYTES_MAX, TCP_CONNECTIONS_MAX, TCP_CONNECTIONS_PER_ADDRESS_MAX, TCP_IDLE_MS } from './limits.ts';

/** Opens a connection. Errors are left to the test. */
async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.resume();
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });

describe('DNS over TCP', () => {
  const api = sharedApi();
  before(() => mustRegister(api()));
  const numbered = (id: number): Buffer => lengthPrefixed(encodeQuery('web.service.accord', 'A', { packet: { id } }));

  test('answers the questions of a connection in order, however they are split into packets', async () => {
    await using dns = await startTestDns(api());
    const socket = await opened(dns.port);
    const all = Buffer.concat(Array.from({ length: 100 }, (_, id) => numbered(id)));
    for (let at = 0; at < all.length; at += 7) socket.write(all.subarray(at, at + 7));
    const answers = await readAnswers(socket, 100);
    assert.deepEqual(
      answers.map((answer) => decodeAnswer(answer).packet.id),
      Array.from({ length: 100 }, (_, id) => id),
    );
    socket.destroy();
    await until('the connection is forgotten', () => dns.connectionCount === 0);
  });

  const external = Object.values(networkInterfaces())
    .flatMap((infos) => infos ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  test('closes the longest idle connection of an address past its share [SVC-115]', {
    skip: external === undefined && 'this machine has no address but loopback',
  }, async () => {
    await using dns = await startTestDns(api());
    const from = async (localAddress: string): Promise<Socket> => {
      const socket = connect({ port: dns.port, host: '127.0.0.1', localAddress });
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    };
    const other = await opened(dns.port);
    const first = await from(external ?? '');
    const sockets: Socket[] = [];
    for (let i = 1; i <= TCP_CONNECTIONS_PER_ADDRESS_MAX; i++) sockets.push(await from(external ?? ''));
    await closed(first);
    await until('one is closed', () => dns.connectionCount === TCP_CONNECTIONS_PER_ADDRESS_MAX + 1);
    other.write(numbered(7));
    assert.equal((await readAnswers(other, 1)).length, 1);
    for (const socket of [...sockets, other]) socket.destroy();
    await until('the connections are forgotten', () => dns.connectionCount === 0);
  });

  test('answers questions sent before the client half-closes the connection', async () => {
    await using dns = await startTestDns(api());
    const socket = await opened(dns.port);
    socket.end(Buffer.concat([numbered(1), numbered(2)]));
    assert.equal((await readAnswers(socket, 3)).length, 2);
  });

  test('closes a connection without a complete question within TCP_IDLE_MS, even if it sends single bytes [SVC-109]', async () => {
    const clock = createFakeClock();
    await using dns = await startTestDns(api(), { clock });
    const socket = await opened(dns.port);
    socket.write(numbered(1));
    assert.equal((await readAnswers(socket, 1)).length, 1);
    clock.advance(TCP_IDLE_MS - 1);
    socket.write(numbered(2));
    assert.equal((await readAnswers(socket, 1)).length, 1);
    clock.advance(TCP_IDLE_MS - 1);
    assert.equal(dns.connectionCount, 1);
    socket.write(numbered(3).subarray(0, 5));
    clock.advance(1);
    await closed(socket);
    assert.equal(dns.connectionCount, 0);
  });

  test('closes a connection whose question is too long [SVC-109]', async () => {
    await using dns = await startTestDns(api());
    const socket = await opened(dns.port);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(QUERY_BYTES_MAX + 1);
    socket.write(length);
    await closed(socket);
  });

  test('closes the longest idle connection to accept a further one [SVC-109]', async () => {
    await using dns = await startTestDns(api());
    const sockets: Socket[] = [];
    for (let i = 0; i < TCP_CONNECTIONS_MAX; i++) sockets.push(await opened(dns.port));
    await until('all are taken', () => dns.connectionCount === TCP_CONNECTIONS_MAX);
    const [first, second] = sockets;
    assert.ok(first !== undefined && second !== undefined);
    first.write(numbered(1));
    assert.equal((await readAnswers(first, 1)).length, 1);
    assert.equal((await query(dns.port, 'web.service.accord', 'A', { over: 'tcp' })).answers.length, 1);
    await closed(second);
    first.write(numbered(2));
    assert.equal((await readAnswers(first, 1)).length, 1);
    for (const socket of sockets) socket.destroy();
  });

  test('stops reading queries while the client does not read the answers', async () => {
    const clock = createFakeClock();
    await using dns = await startTestDns(api(), { clock });
    await mustGenerate(api(), 'east');
    const crowd = Array.from({ length: 1_000 }, (_, i) => {
      const instance = importedInstance('crowd', `n${i}`);
      return { ...instance, node: { ...instance.node, address: `10.0.${i >> 8}.${i & 255}` } };
    });
    await importFrom(api(), 'east', 'crowd', crowd);
    const socket = await opened(dns.port);
    // About 40 kB each, more than the socket buffers hold.
    const one = lengthPrefixed(encodeQuery('crowd.service.east.peer.accord', 'A'));
    socket.write(Buffer.concat(new Array(1_000).fill(one)));
    const answered = (): number => dns.traffic.answered.get('NOERROR') ?? 0;
    await until('some are answered', () => answered() > 0);
    let before: number;
    do {
      before = answered();
      await query(dns.port, 'none.service.accord', 'A', { over: 'tcp' });
      await new Promise((resolve) => setTimeout(resolve, 50));
    } while (answered() > before);
    assert.ok(answered() < 1_000);
    clock.advance(TCP_IDLE_MS);
    await until('it is ended', () => dns.connectionCount === 0);
    socket.destroy();
  });

  test('sends pending answers when it stops', async () => {
    const dns = await startTestDns(api());
    const socket = await opened(dns.port);
    socket.write(numbered(1));
    await until('it is answered', () => dns.traffic.answered.get('NOERROR') === 1);
    await dns[Symbol.asyncDispose]();
    assert.equal((await readAnswers(socket, 2)).length, 1);
    await assert.rejects(opened(dns.port));
  });
});
