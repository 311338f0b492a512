/** `GET /metrics` for Prometheus. Values are collected on each scrape; requests only increment plain numbers. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Measured } from '../../budget/measured.ts';
import type { StoreContact } from '../blocking/read-protocol.ts';
import type { Call } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import type { HttpServer } from '../server/server.ts';
import { DURATION_BUCKETS_MS, type EndpointTraffic } from '../telemetry/traffic.ts';

export interface MeasuredState extends StoreContact {
  readonly snapshot: { readonly index: number; readonly rowCount: number; readonly rowBytes: number };
  readonly waiterCount: number;
  readonly rowsMax: number;
  readonly rowBytesMax: number;
  /** The room in the store, in bytes; `space` is undefined if the store does not tell. */
  readonly admission: { readonly space: { readonly freeBytes: number; readonly reserveBytes: number } | undefined };
}

export interface Metrics {
  /** The registry to which other parts add metrics. */
  readonly registry: Registry;
  /** The registry for metrics whose labels contain names, which only some callers may read. [SRV-71] */
  readonly restricted: Registry;
  /** Adds a budget or a rate to the metrics of all budgets. [SRV-110] */
  addBudget(budget: Measured): void;
  readonly endpoint: Endpoint;
}

export interface MetricsOptions {
  readonly server: Pick<HttpServer, 'traffic' | 'connectionCount'>;
  readonly state: MeasuredState;
  readonly reads: { readonly waitingCount: number };
  /** Whether the caller may read the restricted metrics. @throws ServiceError for an unknown or expired token */
  readonly mayReadRestricted: (call: Call) => boolean;
}

/** Creates the registries with the metrics of the HTTP server and the state, and the endpoint that serves them. */
export function createMetrics({ server, state, reads, mayReadRestricted }: MetricsOptions): Metrics {
  const registry = new Registry();
  const restricted = new Registry();
  collectDefaultMetrics({ register: registry });
  addRequestCounter(registry, server.traffic);
  addGauge(registry, 'accord_http_connections', 'Open connections', () => server.connectionCount());
  addGauge(registry, 'accord_http_waiting_queries', 'Waiting blocking queries', () => reads.waitingCount);
  addGauge(registry, 'accord_state_index', 'Index of the newest commit', () => state.snapshot.index);
  addGauge(registry, 'accord_state_rows', 'Rows in memory', () => state.snapshot.rowCount);
  addGauge(
    registry,
    'accord_state_rows_max',
    'Row limit, at which writes that add rows are rejected',
    () => state.rowsMax,
  );
  addGauge(registry, 'accord_state_bytes', 'Estimated memory of the rows', () => state.snapshot.rowBytes);
  addGauge(
    registry,
    'accord_state_bytes_max',
    'Memory for rows, at which writes that add rows or enlarge them are rejected',
    () => state.rowBytesMax,
  );
  addGauge(registry, 'accord_state_waiters', 'Waiters for a change of the state', () => state.waiterCount);
  addGauge(registry, 'accord_state_loaded', '1 while the state follows the store', () => (state.loaded ? 1 : 0));
  addGauge(
    registry,
    'accord_store_last_contact_seconds',
    'Time since the store last answered',
    () => state.lastContactMs() / 1000,
  );
  addGauge(
    registry,
    'accord_store_free_bytes',
    'Room in the store: in the quota of etcd, or on the disk',
    () => state.admission.space?.freeBytes,
  );
  addGauge(
    registry,
    'accord_store_reserve_bytes',
    'Room in the store below which ordinary callers can only remove',
    () => state.admission.space?.reserveBytes,
  );
  const budgets: Measured[] = [];
  addBudgetMetrics(registry, budgets);
  const endpoint: Endpoint = {
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics for Prometheus',
    open: true,
    async handle(call) {
      const texts = [await registry.metrics(), durationHistogram(server.traffic)];
      if (mayReadRestricted(call)) texts.push(await restricted.metrics());
      return { status: 200, contentType: registry.contentType, body: texts.join('\n') };
    },
  };
  return { registry, restricted, addBudget: (budget) => void budgets.push(budget), endpoint };
}

type Reading = () => number | undefined | Promise<number>;

/** Adds a gauge, which has no value while `read` returns undefined. */
function addGauge(registry: Registry, name: string, help: string, read: Reading): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await read();
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

function addRequestCounter(registry: Registry, traffic: readonly EndpointTraffic[]): void {
  new Counter({
    name: 'accord_http_requests_total',
    help: 'Answered requests by endpoint and first digit of the status',
    labelNames: ['method', 'route', 'class'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { method, path, traffic: counts } of traffic) {
        counts.byClass.forEach((count, i) => {
          if (count > 0) this.inc({ method, route: path, class: `${i + 1}xx` }, count);
        });
      }
    },
  });
}

function addBudgetMetrics(registry: Registry, budgets: readonly Measured[]): void {
  const labelNames = ['budget', 'bound'] as const;
  const registers = [registry];
  new Gauge({
    name: 'accord_budget_used',
    help: 'Amount of a budget in use: in total, and by the key that uses the most',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { name: budget, measure } of budgets) {
        for (const { bound, used } of measure()) if (used !== undefined) this.set({ budget, bound }, used);
      }
    },
  });
  new Gauge({
    name: 'accord_budget_max',
    help: 'Limit of a budget, or of a rate per second',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { name: budget, measure } of budgets) {
        for (const { bound, max } of measure()) this.set({ budget, bound }, max);
      }
    },
  });
  new Counter({
    name: 'accord_budget_refused_total',
    help: 'Requests, connections or messages that a bound of a budget refused',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { name: budget, refused } of budgets) {
        for (const [bound, count] of refused) this.inc({ budget, bound }, count);
      }
    },
  });
}

const DURATION_NAME = 'accord_http_request_duration_seconds';

/** Formats the histogram in the Prometheus text format, because prom-client's histogram does not accept counts. */
function durationHistogram(traffic: readonly EndpointTraffic[]): string {
  const lines = [
    `# HELP ${DURATION_NAME} Time to answer requests, except blocking queries that waited`,
    `# TYPE ${DURATION_NAME} histogram`,
  ];
  for (const { method, path, traffic: counts } of traffic) {
    const labels = `method="${method}",route="${path}"`;
    let total = 0;
    counts.byDuration.forEach((count, i) => {
      total += count;
      const boundMs = DURATION_BUCKETS_MS[i];
      const bound = boundMs === undefined ? '+Inf' : String(boundMs / 1000);
      lines.push(`${DURATION_NAME}_bucket{${labels},le="${bound}"} ${total}`);
    });
    lines.push(`${DURATION_NAME}_sum{${labels}} ${counts.durationSumMs / 1000}`);
    lines.push(`${DURATION_NAME}_count{${labels}} ${total}`);
  }
  return `${lines.join('\n')}\n`;
}
