import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { ANSWER_LIMITS, setAnswerLimits } from './answer-limits.ts';
import { textAnswer } from './call.ts';
import type { Endpoint } from './endpoint.ts';
import { PIECE_BYTES } from './limits.ts';
import { startTestServer, type TestServer } from './server/test-server.suite.ts';

const large = (text: string): Endpoint => ({
  method: 'GET',
  path: '/v1/large',
  summary: 'Large',
  handle: () => textAnswer(200, text),
});

/** Connects clients that request `/v1/large` and do not read the response. */
const connectSlow = async (server: TestServer) => {
  const slow = await Promise.all([server.connect(), server.connect()]);
  for (const socket of slow) {
    socket.write('GET /v1/large HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'readable');
  }
  return slow;
};

const unsentBytes = ({ http }: TestServer): number =>
  http.budgets.find(({ name }) => name === 'unsent-bodies')?.measure()[0]?.used ?? 0;

/** A surrogate pair that a piece would otherwise split. */
const TEXT = `${'x'.repeat(PIECE_BYTES - 1)}😀${'ä'.repeat(3 * PIECE_BYTES)}`;

describe('large response bodies', () => {
  it('arrive complete in pieces, and free the budget [SRV-111]', async () => {
    await using server = await startTestServer([large(TEXT)]);
    for (let i = 0; i < 3; i++) assert.equal((await server.request('/v1/large')).text, TEXT);
    assert.equal(unsentBytes(server), 0);
  });

  it('get 503 with Retry-After when slow clients hold the budget, and equal bodies count once [SRV-111]', async () => {
    setAnswerLimits({ ...ANSWER_LIMITS, unsentBytesMax: 24 * 2 ** 20 });
    let body = 'a'.repeat(8 * 2 ** 20);
    const endpoint: Endpoint = { ...large(''), handle: () => textAnswer(200, body) };
    try {
      await using server = await startTestServer([endpoint]);
      const slow = await connectSlow(server);
      assert.equal(unsentBytes(server), 2 * body.length);
      body = 'b'.repeat(body.length);
      const refused = await server.request('/v1/large');
      assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1']);
      for (const socket of slow) socket.destroy();
      while (unsentBytes(server) > 0) await new Promise((resolve) => setImmediate(resolve));
      assert.equal((await server.request('/v1/large')).status, 200);
    } finally {
      setAnswerLimits(ANSWER_LIMITS);
    }
  });

  it('answer a write although the budget is used up, and do not count for HEAD [SRV-111]', async () => {
    setAnswerLimits({ ...ANSWER_LIMITS, unsentBytesMax: 24 * 2 ** 20 });
    let body = 'a'.repeat(8 * 2 ** 20);
    const handle = () => textAnswer(200, body);
    try {
      await using server = await startTestServer([
        { ...large(''), handle },
        { ...large(''), method: 'POST', handle },
      ]);
      const slow = await connectSlow(server);
      const used = unsentBytes(server);
      body = 'b'.repeat(body.length);
      const written = await server.request('/v1/large', { method: 'POST' });
      assert.deepEqual([written.status, written.bytes.length], [200, body.length]);
      assert.equal((await server.request('/v1/large', { method: 'HEAD' })).status, 200);
      assert.equal(unsentBytes(server), used);
      for (const socket of slow) socket.destroy();
      while (unsentBytes(server) > 0) await new Promise((resolve) => setImmediate(resolve));
    } finally {
      setAnswerLimits(ANSWER_LIMITS);
    }
  });
});
