/**
 * `npm run bench:report`: measures all sections and writes docs/performance.md with its charts. It takes about 20
 * minutes, and the machine must be idle otherwise.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { costAgainstSize, latencyAgainstLoad } from './curves.ts';
import { SECTIONS } from './sections.ts';
import { startBaseline } from './support/baseline-server.ts';
import { type Chart, chartSvg } from './support/chart.ts';
import { fdatasyncMs } from './support/fdatasync.ts';
import { type Figure, printFigures } from './support/figures.ts';
import { measureRate } from './support/wrk.ts';

const DOCS = path.resolve(import.meta.dirname, '../docs');
const CHARTS = 'performance';

/** The machine to which absolute targets apply. */
const REFERENCE = 'bare `node:http` at 65,000/s and an `fdatasync` of 0.2 ms';

const machine = await describeMachine();
const parts: string[] = [];
const charts = [
  { file: 'latency.svg', chart: await latencyAgainstLoad() },
  { file: 'size.svg', chart: await costAgainstSize() },
];
for (const run of Object.values(SECTIONS)) {
  await run((title, figures) => {
    printFigures(title, figures);
    parts.push(`### ${title}\n\n${figureTable(figures)}\n`);
  });
}
await mkdir(path.join(DOCS, CHARTS), { recursive: true });
for (const { file, chart } of charts) await writeFile(path.join(DOCS, CHARTS, file), chartSvg(chart));
await writeFile(path.join(DOCS, 'performance.md'), page());

function page(): string {
  return `# Performance

\`npm run bench:report\` measures every figure and writes this page. Each rate is compared with a bare \`node:http\` server
that returns the same bytes, on the same machine and in the same run. Their rounds alternate, and the page shows the
median of three rounds: rates depend on the machine, ratios hardly do. \`wrk\` produces the load in a separate process.
"Durable" means that each write was on disk (\`fdatasync\`) before its response.

| | |
| --- | --- |
${machine.map(([name, value]) => `| ${name} | ${value} |`).join('\n')}

To measure again, run \`npm ci\`, and then \`npm run bench\` for all figures, \`npm run bench -- http peering\` for some of the
sections (${Object.keys(SECTIONS).join(', ')}), or \`npm run bench:report\` for this
page. The machine must be idle otherwise.

## Curves

${charts.map(({ file, chart }) => `![${chart.title}](${CHARTS}/${file})\n\n${pointTable(chart)}`).join('\n\n')}

## Figures

The targets are the project's own. A target that is not a ratio applies to a machine with
${REFERENCE}.

${parts.join('\n')}`;
}

async function describeMachine(): Promise<(readonly [string, string])[]> {
  const version = (command: string, ...args: string[]): string =>
    execFileSync(command, args, { encoding: 'utf8' }).split('\n')[0] ?? '';
  return [
    ['processor', `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores`],
    ['memory', `${Math.round(totalmem() / 2 ** 30)} GiB`],
    ['system', version('uname', '-sr')],
    ['Node.js', process.version],
    ['Accord', version('git', 'describe', '--always', '--tags')],
    ['date', new Date().toISOString().slice(0, 10)],
    ['bare `node:http`, 1 KB, 64 connections', `${Math.round(await baselineRate()).toLocaleString('en')}/s`],
    ['`fdatasync` after 4 KiB, p50', `${fdatasyncMs(tmpdir()).toFixed(2)} ms`],
  ];
}

async function baselineRate(): Promise<number> {
  const body = JSON.stringify({ text: 'x'.repeat(1_000) });
  await using baseline = await startBaseline({ headers: { 'content-type': 'application/json' }, text: body });
  return await measureRate({ url: `${baseline.address}/`, connections: 64, seconds: 3 });
}

function figureTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, measured, target = '', isMet }) => {
    const result = isMet === undefined ? '' : isMet ? 'met' : '**missed**';
    return `| ${name} | ${measured} | ${target} | ${result} |`;
  });
  return ['| figure | measured | target | result |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

/** Returns the points of a chart as a table, for readers who cannot see the chart. */
function pointTable({ x, lines }: Chart): string {
  const across = lines[0]?.points.map(([value]) => value.toLocaleString('en')) ?? [];
  const rows = lines.map(
    ({ name, points }) =>
      `| ${name} | ${points
        .map(([, value]) => value.toPrecision(3))
        .map(Number)
        .join(' | ')} |`,
  );
  return [`| ${x} | ${across.join(' | ')} |`, `| --- |${' ---: |'.repeat(across.length)}`, ...rows].join('\n');
}
