/** Compares the tables of the documents with the code: errors, endpoints, metrics, findings and sizes. */
import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { settingKeys } from '../../src/config/table.ts';
import { serviceErrorCodes, statusOf } from '../../src/http/errors.ts';
import { planMemory } from '../../src/main/memory-plan.ts';
import { findingCodes, findingOf } from '../../src/peering/check/findings.ts';
import { errorCodes, errorDefinition } from '../../src/team-access/jsonapi/errors.ts';
import { startApi } from '../support/process/api.ts';
import { fitsMemory, MEBIBYTE, TOKEN_BYTES } from '../support/process/heap-size.ts';
import { startServer } from '../support/process/server.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const textOf = (file: string): Promise<string> => readFile(path.join(ROOT, file), 'utf8');

/** Prefixes of the endpoints in other documents than docs/acl.md. */
const ENDPOINTS_ELSEWHERE = ['/v1/peering', '/v1/operator/ca'];
/** Prefixes of the endpoints in docs/services.md. */
const SERVICE_ENDPOINTS = [
  ...['/v1/catalog', '/v1/health', '/v1/agent'],
  ...['/v1/config', '/v1/exported-services', '/v1/imported-services', '/v1/connect'],
];

describe('docs/errors.md', () => {
  test('lists exactly the error codes of /v1, with their statuses [V1-48]', async () => {
    const rows = (await textOf('docs/errors.md')).matchAll(/^\| `([a-z-]+)` \| (\d{3}) \| [^|]+ \| [^|]+ \|$/gm);
    const documented = [...rows].map(([, code, status]) => `${code} ${status}`);
    const real = serviceErrorCodes.map((code) => `${code} ${statusOf(code)}`);
    assert.deepEqual(documented.toSorted(), real.toSorted());
  });

  test('lists exactly the errors of team access, with their statuses and meanings', async () => {
    const rows = (await textOf('docs/errors.md')).matchAll(/^\| (\d{3}) \| `([a-z ]+)` \| ([^|]+) \| [^|]+ \|$/gm);
    const documented = [...rows].map(([, status, title, meaning]) => ({ status: Number(status), title, meaning }));
    assert.deepEqual(documented, errorCodes.map(errorDefinition));
  });
});

describe('docs/acl.md', () => {
  test('lists exactly the endpoints of credentials and the audit log [ACL-32, ACL-56]', async () => {
    const elsewhere = [...ENDPOINTS_ELSEWHERE, ...SERVICE_ENDPOINTS];
    const isElsewhere = (at: string): boolean => elsewhere.some((prefix) => at.startsWith(prefix));
    await compareEndpoints('docs/acl.md', (at) => at.startsWith('/v1/') && !isElsewhere(at));
  });
});

describe('docs/peering.md', () => {
  test('lists exactly the endpoints of peerings', async () => {
    await compareEndpoints('docs/peering.md', (at) => at.startsWith('/v1/peering'));
  });

  test('lists exactly the findings of the connection check', async () => {
    const rows = (await textOf('docs/peering.md')).matchAll(/^\| `([a-z-]+)` \| `([a-z0-9-]+)` \| (.+) \| (.+) \|$/gm);
    const documented = [...rows].map(([, id, code, cause, remedy]) => ({ id, code, cause, remedy }));
    const real = findingCodes.map((code) => {
      const { id, cause, remedy } = findingOf(code);
      return { id, code, cause, remedy };
    });
    assert.deepEqual(documented, real);
  });
});

describe('docs/services.md', () => {
  test('lists exactly the endpoints of services', async () => {
    await compareEndpoints('docs/services.md', (at) => SERVICE_ENDPOINTS.some((prefix) => at.startsWith(prefix)));
  });
});

describe('docs/team-access.md', () => {
  test('lists exactly the endpoints of team access', async () => {
    await compareEndpoints('docs/team-access.md', (at) => at.startsWith('/api/v2/'));
  });
});

describe('docs/monitoring.md', () => {
  test('lists exactly the metrics of Accord, and the alerts use only these [SRV-69, SRV-71]', async () => {
    const real = await metricNames();
    const table = [...(await textOf('docs/monitoring.md')).matchAll(/^\| (`accord_.*?) \| [^|]+ \|$/gm)].join(' ');
    assert.deepEqual(namesIn(table), real);
    const { groups } = parse(await textOf('deploy/prometheus/accord.rules.yaml')) as AlertRules;
    for (const { alert, expr } of groups.flatMap(({ rules }) => rules)) {
      for (const name of namesIn(expr)) assert.ok(real.includes(name), `${alert} uses ${name}`);
    }
  });

  test('labels every scrape target with its cluster, and no alert aggregates over several clusters', async () => {
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

describe('docs/logs.md', () => {
  test('lists every log event', async () => {
    const rows = (await textOf('docs/logs.md')).matchAll(/^\| `([^`]+)` \| ([a-z ]+) \|(?:[^|\n]*\|){3}$/gm);
    const documented = [...rows].map(([, phrase, level]) => `${level}: ${phrase}`);
    const real = await logEvents();
    const isInfo = (event: string): boolean => event.startsWith('info: ');
    assert.deepEqual(
      documented.filter((event) => !isInfo(event)).toSorted(),
      real.filter((event) => !isInfo(event)).toSorted(),
    );
    assert.deepEqual(
      documented.filter((event) => !real.includes(event)),
      [],
    );
  });
});

/** Log calls with the level in their name; those that only forward a message are left out. */
const LOG_METHOD = /\blog(?:\.(?<level>info|warn|error)|\[level\])\((?![^;]*, message\))/g;
/** The phrase of such a call: the string that is its last argument. */
const LAST_STRING = /'(?<phrase>[^'\n]+)',?\s*\)/;
/** Log calls of the state, which have the level and the phrase as their first arguments. */
const LOG_FUNCTION = /\blog\(\s*'(?<level>info|warn|error)',\s*'(?<phrase>[^'\n]+)'/g;

/** Returns the level and phrase of every log call in `src/`, such as `warn: lease lost`. */
async function logEvents(): Promise<string[]> {
  const events = new Set<string>();
  for await (const file of glob('src/**/*.ts', { cwd: ROOT, exclude: ['**/*.{test,suite}.ts'] })) {
    const source = await textOf(file);
    for (const { index, groups } of source.matchAll(LOG_METHOD)) {
      const { phrase = `no phrase in ${file}` } = LAST_STRING.exec(source.slice(index))?.groups ?? {};
      events.add(`${groups?.['level'] ?? 'info or error'}: ${phrase}`);
    }
    for (const { groups } of source.matchAll(LOG_FUNCTION)) {
      events.add(`${groups?.['level']}: ${groups?.['phrase']}`);
    }
  }
  return [...events];
}

interface ScrapeExample {
  readonly scrape_configs: readonly {
    readonly static_configs: readonly { readonly labels?: Readonly<Record<string, string>> }[];
  }[];
}

describe('docs/security.md', () => {
  test('names settings and tests that exist for every attack', async () => {
    const text = await textOf('docs/security.md');
    const rows = [...text.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].slice(2);
    const bounds = rows.filter(([, , , , tests = '']) => tests.includes('.ts`'));
    assert.ok(bounds.length > 50, `${bounds.length} rows`);
    const settings = new Set<string>(settingKeys);
    const files = await Array.fromAsync(glob('{src,test}/**/*.{test,suite,long}.ts', { cwd: ROOT }));
    for (const [, attack, , setting = '', tests = ''] of bounds) {
      for (const [, name = ''] of setting.matchAll(/`([^`]+)`/g)) {
        assert.ok(settings.has(name) || name.startsWith('NODE_OPTIONS='), `${attack}: ${name} is no setting`);
      }
      for (const [, file = ''] of tests.matchAll(/`([^`]+)`/g)) {
        const found = files.filter((each) => each === file || each.endsWith(`/${file}`));
        assert.equal(found.length, 1, `${attack}: ${file} is ${found.join(', ') || 'missing'}`);
      }
    }
  });
});

describe('docs/operations.md', () => {
  test('lists sizes in which the rows fit the heap, and the heap fits the memory [SRV-30]', async () => {
    const rows = [
      ...(await textOf('docs/operations.md')).matchAll(/^\| ([\d,]+) \| (\d+) \| ([\d.]+) (MiB|GiB) \|$/gm),
    ];
    assert.ok(rows.length >= 4);
    for (const [row, count = '', mebibytes, memory, unit] of rows) {
      const { rows: capacity } = planMemory({ oldGenerationBytes: Number(mebibytes) * MEBIBYTE, sharedStore: false });
      const fitting = capacity.bytesMax / TOKEN_BYTES;
      assert.ok(Number(count.replaceAll(',', '')) <= fitting, `${row}: ${fitting} fit`);
      const memoryBytes = Number(memory) * (unit === 'GiB' ? 1_024 : 1) * MEBIBYTE;
      assert.ok(fitsMemory(Number(mebibytes) * MEBIBYTE, memoryBytes), row);
    }
  });
});

interface AlertRules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

const namesIn = (text: string): string[] => [...new Set(text.match(/\baccord_\w+/g))].toSorted();

/** Returns the metrics of a server with DNS, for a token that may read all metrics. */
async function metricNames(): Promise<string[]> {
  await using server = await startServer({ settings: { 'dns.address': '127.0.0.1:0' } });
  const { text } = await server.request('GET', '/metrics');
  return [...new Set([...text.matchAll(/^# TYPE (accord_\w+)/gm)].map(([, name = '']) => name))].toSorted();
}

/** Compares the table of endpoints in a document with the server's endpoints for which `isListed` returns true. */
async function compareEndpoints(file: string, isListed: (path: string) => boolean): Promise<void> {
  const rows = (await textOf(file)).matchAll(/^\| `([A-Z]+ \/(?:v1|api\/v2)\/[^`]+)` \| [^|]* \| [^|]+ \|$/gm);
  const documented = [...rows].map(([, endpoint]) => endpoint);
  await using api = await startApi();
  const listed = api.server.endpoints.filter(({ path: at }) => isListed(at));
  assert.deepEqual(documented.toSorted(), listed.map(({ method, path: at }) => `${method} ${at}`).toSorted());
}
