import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { until } from '../../../../test/support/until.ts';
import { UNAUTHENTICATED_CONNECTIONS_MAX } from '../../limits.ts';
import { createUnauthenticatedConnections, type UnauthenticatedConnections } from './unauthenticated-connections.ts';

describe('unauthenticated connections', { timeout: 60_000 }, () => {
  let connections: UnauthenticatedConnections;
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    accepted.push(socket);
    socket.on('error', () => undefined).resume();
    connections.add(socket);
  });
  before(async () => {
    server.listen(0, '0.0.0.0');
    await once(server, 'listening');
  });
  after(() => void server.close());

  /** Connects from an address of this machine. */
  async function open(localAddress: string, count: number): Promise<Socket[]> {
    const { port } = server.address() as AddressInfo;
    const before = accepted.length;
    const sockets = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', localAddress }));
    for (const socket of sockets) socket.on('error', () => undefined).resume();
    await until('the connections are accepted', () => accepted.length === before + count);
    return sockets;
  }

  it('count until they close or are authenticated', async () => {
    connections = createUnauthenticatedConnections();
    const [first, second] = await open('127.0.0.1', 2);
    assert.equal(connections.size, 2);
    connections.markAuthenticated({ remoteAddress: '127.0.0.1', remotePort: first?.localPort });
    connections.markAuthenticated({ remoteAddress: '127.0.0.1', remotePort: first?.localPort });
    connections.markAuthenticated({ remoteAddress: undefined, remotePort: undefined });
    assert.equal(connections.size, 1);
    second?.destroy();
    await until('no connection is counted', () => connections.size === 0);
    first?.destroy();
    assert.equal(connections.displacedCount, 0);
  });

  it('are limited by closing the oldest one of the address with the most connections [STREAM-33]', async () => {
    connections = createUnauthenticatedConnections();
    const few = await open('127.0.0.2', 3);
    const many: Socket[] = [];
    for (let i = 0; i < 8; i += 1) many.push(...(await open('127.0.0.1', UNAUTHENTICATED_CONNECTIONS_MAX / 8)));
    assert.equal(connections.size, UNAUTHENTICATED_CONNECTIONS_MAX);
    assert.equal(connections.displacedCount, 3);
    await until('the oldest connections are closed', () => many.slice(0, 3).every(({ destroyed }) => destroyed));
    assert.ok(many.slice(3).every(({ destroyed }) => !destroyed));
    assert.ok(few.every(({ destroyed }) => !destroyed));
    connections.destroy();
    await until(
      'all are closed',
      () => connections.size === 0 && [...many, ...few].every(({ destroyed }) => destroyed),
    );
  });
});
