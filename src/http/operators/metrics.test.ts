import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createBudget } from '../../budget/budget.ts';
import { createRate } from '../../budget/rate.ts';
import { textAnswer } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { startTestServer } from '../server/test-server.suite.ts';
import { healthEndpoints } from './health.ts';
import { createMetrics } from './metrics.ts';

const hello: Endpoint = { method: 'GET', path: '/v1/hello', summary: 'Hello', handle: () => textAnswer(200, 'hello') };
const state = {
  loaded: true,
  storeFailing: false,
  silentMs: 0,
  waiterCount: 2,
  rowsMax: 5,
  rowBytesMax: 5_000,
  admission: {
    space: { freeBytes: 900, reserveBytes: 100 } as { freeBytes: number; reserveBytes: number } | undefined,
  },
  snapshot: { index: 7, rowCount: 3, rowBytes: 1_000 },
  lastContactMs() {
    return this.silentMs;
  },
};

describe('GET /metrics', () => {
  it('counts requests by endpoint and status, and reports the state [SRV-69] [SRV-70] [SRV-110]', async () => {
    const endpoints = [hello];
    await using server = await startTestServer([]);
    const { endpoint } = createMetrics({
      server: server.http,
      state,
      reads: { waitingCount: 4 },
      mayReadRestricted: () => false,
    });
    await using shown = await startTestServer([...endpoints, endpoint]);
    const own = createMetrics({
      server: shown.http,
      state,
      reads: { waitingCount: 4 },
      mayReadRestricted: () => false,
    });
    const budget = createBudget<'token'>('waiting-queries', { total: 8, shares: { token: 2 } });
    own.addBudget(budget);
    own.addBudget(createRate({ name: 'requests', bound: 'token', limits: { perSecond: 9 }, clock: createFakeClock() }));
    for (const token of ['a', 'a', 'a', 'b']) budget.take({ keys: { token } });
    for (let i = 0; i < 3; i++) await shown.request('/v1/hello');
    await shown.request('/v1/nothing');
    const text = String((await own.endpoint.handle({} as never))?.body);
    for (const line of [
      'accord_http_requests_total{method="GET",route="/v1/hello",class="2xx"} 3',
      'accord_http_requests_total{method="*",route="(none)",class="4xx"} 1',
      'accord_http_request_duration_seconds_bucket{method="GET",route="/v1/hello",le="+Inf"} 3',
      'accord_http_request_duration_seconds_count{method="GET",route="/v1/hello"} 3',
      '# TYPE accord_http_request_duration_seconds histogram',
      'accord_http_waiting_queries 4',
      'accord_http_connections 1',
      'accord_state_index 7',
      'accord_state_rows 3',
      'accord_state_rows_max 5',
      'accord_store_free_bytes 900',
      'accord_store_reserve_bytes 100',
      'accord_state_waiters 2',
      'accord_state_loaded 1',
      'accord_store_last_contact_seconds 0',
      'accord_budget_used{budget="waiting-queries",bound="total"} 3',
      'accord_budget_used{budget="waiting-queries",bound="token"} 2',
      'accord_budget_max{budget="waiting-queries",bound="total"} 8',
      'accord_budget_max{budget="requests",bound="token"} 9',
      'accord_budget_refused_total{budget="waiting-queries",bound="token"} 1',
      'accord_budget_refused_total{budget="requests",bound="token"} 0',
    ]) {
      assert.ok(text.split('\n').includes(line), `${line}\n${text}`);
    }
    assert.match(text, /^process_resident_memory_bytes \d+$/m);
    state.admission.space = undefined;
    const got = await shown.request('/metrics');
    assert.doesNotMatch(got.text, /^accord_store_free_bytes/m);
    assert.equal(got.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  });
});

describe('healthEndpoints', () => {
  const options = { staleMaxAgeMs: 600_000, version: { Version: '1.2.3' } };

  it('returns 200 from /healthz, and the version from /version [SRV-64] [SRV-67]', async () => {
    await using server = await startTestServer(healthEndpoints({ ...options, state }));
    assert.deepEqual([(await server.request('/healthz')).status, (await server.request('/healthz')).text], [200, 'ok']);
    const version = await server.request('/version');
    assert.deepEqual([version.text, version.headers['content-type']], ['{"Version":"1.2.3"}', 'application/json']);
    assert.equal((await server.request('/healthz', { method: 'POST' })).status, 405);
  });

  const cases: [string, Partial<typeof state>, number, RegExp][] = [
    ['ready', {}, 200, /^ready$/],
    ['degraded while the store is silent', { silentMs: 12_001 }, 200, /^degraded$/],
    ['degraded as soon as reads fail', { storeFailing: true }, 200, /^degraded$/],
    ['degraded while the state is reloaded', { loaded: false }, 200, /^degraded$/],
    ['not ready after stale.max-age', { silentMs: 600_001 }, 503, /silent for 600 s, longer than stale.max-age$/],
  ];
  for (const [name, changed, status, text] of cases) {
    it(`reports from /readyz that it is ${name} [SRV-65] [SRV-66]`, async () => {
      await using server = await startTestServer(healthEndpoints({ ...options, state: { ...state, ...changed } }));
      const got = await server.request('/readyz');
      assert.equal(got.status, status);
      assert.match(got.text, text);
    });
  }
});
