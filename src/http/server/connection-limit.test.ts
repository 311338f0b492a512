import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import tls from 'node:tls';
import { until } from '../../../test/support/until.ts';
import { textAnswer } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { one } from './certificates.suite.ts';
import { limits, startTestServer } from './test-server.suite.ts';

const hello: Endpoint = {
  method: 'GET',
  path: '/v1/hello',
  summary: 'Says hello',
  handle: () => textAnswer(200, 'hello'),
};

describe('unfinished TLS handshakes', () => {
  it('are bounded for each address, and free again when they end [SRV-58]', async () => {
    await using server = await startTestServer([hello], {
      certificate: one,
      limits: { ...limits, connectionsPerAddress: 8 },
    });
    const budget = (name: string) => server.http.budgets.find((measured) => measured.name === name);
    const used = (name: string) => budget(name)?.measure()[0]?.used;
    const idle = [await server.connect(), await server.connect()];
    await until('both are counted', () => used('tls-handshakes') === 2);
    const third = await server.connect();
    third.on('error', () => undefined);
    await once(third, 'close');
    assert.equal(budget('tls-handshakes')?.refused.get('address'), 1);

    for (const socket of idle) socket.destroy();
    await until('both are closed', () => used('tls-handshakes') === 0);
    const secure: Socket = tls.connect({ port: server.port, host: '127.0.0.1', ca: one.cert });
    await once(secure, 'secureConnect');
    await until('the handshake is complete', () => used('tls-handshakes') === 0 && used('connections') === 1);
    secure.destroy();
    await until('the connection is closed', () => used('connections') === 0);
  });
});
