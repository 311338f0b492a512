/** The tables of the documents against the code: errors, endpoints, metrics, findings, sizes. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { serviceErrorCodes, statusOf } from '../../src/http/errors.ts';
import { rowsThatFitHeap } from '../../src/main/row-capacity.ts';
import { findingCodes, findingOf } from '../../src/peering/check/findings.ts';
import { errorCodes, errorDefinition } from '../../src/team-access/jsonapi/errors.ts';
import { startApi } from '../support/process/api.ts';
import { fitsMemory, heapLimitBytes, MEBIBYTE } from '../support/process/heap-size.ts';
import { startServer } from '../support/process/server.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const textOf = (file: string): Promise<string> => readFile(path.join(ROOT, file), 'utf8');

/** Endpoints that stand in documents of their own. */
const ENDPOINTS_ELSEWHERE = ['/v1/peering', '/v1/operator/ca'];
/** Those of docs/services.md. */
const SERVICE_ENDPOINTS = [
  ...['/v1/catalog', '/v1/health', '/v1/agent'],
  ...['/v1/config', '/v1/exported-services', '/v1/imported-services', '/v1/connect'],
];

describe('docs/errors.md', () => {
  test('has every error code of /v1 with its status, and no other', async () => {
    const rows = (await textOf('docs/errors.md')).matchAll(/^\| `([a-z-]+)` \| (\d{3}) \| [^|]+ \| [^|]+ \|$/gm);
    const documented = [...rows].map(([, code, status]) => `${code} ${status}`);
    const real = serviceErrorCodes.map((code) => `${code} ${statusOf(code)}`);
    assert.deepEqual(documented.toSorted(), real.toSorted());
  });

  test('has every error of team access with its status and meaning, and no other', async () => {
    const rows = (await textOf('docs/errors.md')).matchAll(/^\| (\d{3}) \| `([a-z ]+)` \| ([^|]+) \| [^|]+ \|$/gm);
    const documented = [...rows].map(([, status, title, meaning]) => ({ status: Number(status), title, meaning }));
    assert.deepEqual(documented, errorCodes.map(errorDefinition));
  });
});

describe('docs/acl.md', () => {
  test('has every endpoint of credentials and audit, and no other', async () => {
    const elsewhere = [...ENDPOINTS_ELSEWHERE, ...SERVICE_ENDPOINTS];
    const isElsewhere = (at: string): boolean => elsewhere.some((prefix) => at.startsWith(prefix));
    await compareEndpoints('docs/acl.md', (at) => at.startsWith('/v1/') && !isElsewhere(at));
  });
});

describe('docs/peering.md', () => {
  test('has every endpoint of peerings, and no other', async () => {
    await compareEndpoints('docs/peering.md', (at) => at.startsWith('/v1/peering'));
  });

  test('has everything that a connection check can find, and no other', async () => {
    const rows = (await textOf('docs/peering.md')).matchAll(/^\| `([a-z-]+)` \| `([a-z0-9-]+)` \| (.+) \| (.+) \|$/gm);
    const documented = [...rows].map(([, id, code, cause, mend]) => ({ id, code, cause, mend }));
    const real = findingCodes.map((code) => {
      const { id, cause, remedy: mend } = findingOf(code);
      return { id, code, cause, mend };
    });
    assert.deepEqual(documented, real);
  });
});

describe('docs/services.md', () => {
  test('has every endpoint of services, and no other', async () => {
    await compareEndpoints('docs/services.md', (at) => SERVICE_ENDPOINTS.some((prefix) => at.startsWith(prefix)));
  });
});

describe('docs/team-access.md', () => {
  test('has every endpoint of team access, and no other', async () => {
    await compareEndpoints('docs/team-access.md', (at) => at.startsWith('/api/v2/'));
  });
});

describe('docs/monitoring.md', () => {
  test('has every metric of Accord, and no other; the alerts use no other', async () => {
    const real = await metricNames();
    const table = [...(await textOf('docs/monitoring.md')).matchAll(/^\| (`accord_.*?) \| [^|]+ \|$/gm)].join(' ');
    assert.deepEqual(namesIn(table), real);
    const { groups } = parse(await textOf('deploy/prometheus/accord.rules.yaml')) as AlertRules;
    for (const { alert, expr } of groups.flatMap(({ rules }) => rules)) {
      for (const name of namesIn(expr)) assert.ok(real.includes(name), `${alert} uses ${name}`);
    }
  });

  test('tells clusters apart: what is scraped has its name, and no alert puts two of them together', async () => {
    const [, example = ''] = /^```yaml\n(.*?)^```$/ms.exec(await textOf('docs/monitoring.md')) ?? [];
    const { scrape_configs: jobs } = parse(example) as ScrapeExample;
    const targets = jobs.flatMap(({ static_configs: configs }) => configs);
    assert.ok(targets.length > 0 && targets.every(({ labels }) => labels?.['cluster'] !== undefined));
    const { groups } = parse(await textOf('deploy/prometheus/accord.rules.yaml')) as AlertRules;
    for (const { alert, expr } of groups.flatMap(({ rules }) => rules)) {
      const aggregations = expr.match(/\b(sum|max|min|avg|count)\b[^(]*\([^)]*\)/g) ?? [];
      for (const found of aggregations) assert.match(found, /^\w+ by \((?=[^)]*\bcluster\b)/, alert);
      for (const found of expr.match(/\b(on|ignoring|without) ?\([^)]*\)/g) ?? []) {
        assert.match(found, /^on \((?=[^)]*\bcluster\b)/, alert);
      }
    }
  });
});

interface ScrapeExample {
  readonly scrape_configs: readonly {
    readonly static_configs: readonly { readonly labels?: Readonly<Record<string, string>> }[];
  }[];
}

describe('docs/operations.md', () => {
  test('has sizes in which the rows fit the heap, and the heap the machine', async () => {
    const rows = [
      ...(await textOf('docs/operations.md')).matchAll(/^\| ([\d,]+) \| (\d+) \| ([\d.]+) (MiB|GiB) \|$/gm),
    ];
    assert.ok(rows.length >= 4);
    for (const [row, count = '', mebibytes, memory, unit] of rows) {
      const heap = heapLimitBytes(`--max-old-space-size=${mebibytes}`);
      assert.ok(Number(count.replaceAll(',', '')) <= rowsThatFitHeap(heap), `${row}: ${rowsThatFitHeap(heap)} fit`);
      assert.ok(fitsMemory(heap, Number(memory) * (unit === 'GiB' ? 1_024 : 1) * MEBIBYTE), row);
    }
  });
});

interface AlertRules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

const namesIn = (text: string): string[] => [...new Set(text.match(/\baccord_\w+/g))].toSorted();

/** Those of a server with everything on, to who may read the names of peerings. */
async function metricNames(): Promise<string[]> {
  await using server = await startServer({ settings: { 'dns.address': '127.0.0.1:0' } });
  const { text } = await server.request('GET', '/metrics');
  return [...new Set([...text.matchAll(/^# TYPE (accord_\w+)/gm)].map(([, name = '']) => name))].toSorted();
}

/** Compares a document's table of endpoints with the server's, as far as they are the document's to show. */
async function compareEndpoints(file: string, isShown: (path: string) => boolean): Promise<void> {
  const rows = (await textOf(file)).matchAll(/^\| `([A-Z]+ \/(?:v1|api\/v2)\/[^`]+)` \| [^|]* \| [^|]+ \|$/gm);
  const documented = [...rows].map(([, endpoint]) => endpoint);
  await using api = await startApi();
  const shown = api.server.endpoints.filter(({ path: at }) => isShown(at));
  assert.deepEqual(documented.toSorted(), shown.map(({ method, path: at }) => `${method} ${at}`).toSorted());
}
