import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { until } from '../../../../test/support/until.ts';
import { UNPROVEN_CONNECTIONS_MAX } from '../../limits.ts';
import { createUnprovenConnections, type UnprovenConnections } from './unauthenticated-connections.ts';

describe('connections that have shown no secret', { timeout: 60_000 }, () => {
  let unproven: UnprovenConnections;
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    accepted.push(socket);
    socket.on('error', () => undefined).resume();
    unproven.add(socket);
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
    await until('they are accepted', () => accepted.length === before + count);
    return sockets;
  }

  it('are held until they close or show one', async () => {
    unproven = createUnprovenConnections();
    const [first, second] = await open('127.0.0.1', 2);
    assert.equal(unproven.size, 2);
    unproven.prove({ remoteAddress: '127.0.0.1', remotePort: first?.localPort });
    unproven.prove({ remoteAddress: '127.0.0.1', remotePort: first?.localPort });
    unproven.prove({ remoteAddress: undefined, remotePort: undefined });
    assert.equal(unproven.size, 1);
    second?.destroy();
    await until('none is held', () => unproven.size === 0);
    first?.destroy();
    assert.equal(unproven.displacedCount, 0);
  });

  it('displace those of whoever holds most, the oldest first, when they are too many', async () => {
    unproven = createUnprovenConnections();
    const few = await open('127.0.0.2', 3);
    const many: Socket[] = [];
    for (let i = 0; i < 8; i += 1) many.push(...(await open('127.0.0.1', UNPROVEN_CONNECTIONS_MAX / 8)));
    assert.equal(unproven.size, UNPROVEN_CONNECTIONS_MAX);
    assert.equal(unproven.displacedCount, 3);
    await until('the oldest of the many are closed', () => many.slice(0, 3).every(({ destroyed }) => destroyed));
    assert.ok(many.slice(3).every(({ destroyed }) => !destroyed));
    assert.ok(few.every(({ destroyed }) => !destroyed));
    unproven.destroy();
    await until('all are closed', () => unproven.size === 0 && [...many, ...few].every(({ destroyed }) => destroyed));
  });
});
