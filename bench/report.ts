/**
 * `npm run bench:report`: measures everything and writes docs/performance.md with its charts. It takes some twenty
 * minutes, and a machine that does nothing else.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { costAgainstSize, latencyAgainstLoad } from './curves.ts';
import { SECTIONS } from './sections.ts';
import { startBare } from './support/bare.ts';
import { type Chart, chartSvg } from './support/chart.ts';
import { type Figure, print } from './support/figures.ts';
import { syncMs } from './support/machine.ts';
import { load } from './support/wrk.ts';

const DOCS = path.resolve(import.meta.dirname, '../docs');
const CHARTS = 'performance';

/** The machine that absolute bounds are stated for. */
const REFERENCE = 'bare `node:http` at 65,000/s and an `fdatasync` of 0.2 ms';

const machine = await describeMachine();
const parts: string[] = [];
const charts = [
  { file: 'latency.svg', chart: await latencyAgainstLoad() },
  { file: 'size.svg', chart: await costAgainstSize() },
];
for (const run of Object.values(SECTIONS)) {
  await run((title, figures) => {
    print(title, figures);
    parts.push(`### ${title}\n\n${figureTable(figures)}\n`);
  });
}
await mkdir(path.join(DOCS, CHARTS), { recursive: true });
for (const { file, chart } of charts) await writeFile(path.join(DOCS, CHARTS, file), chartSvg(chart));
await writeFile(path.join(DOCS, 'performance.md'), page());

function page(): string {
  return `# Performance

Measured by \`npm run bench:report\`, which writes this page; nothing here is written by hand. Every rate stands beside
that of a bare \`node:http\` server which answers the same bytes, on the same machine in the same run, in turns, the median of
three: machines differ, ratios hardly do. Load comes from \`wrk\` in a process of its own. "Durable" means that each write was
on the disk (\`fdatasync\`) before it was answered.

| | |
| --- | --- |
${machine.map(([name, value]) => `| ${name} | ${value} |`).join('\n')}

To measure again: \`npm ci\`, then \`npm run bench\` for all figures, \`npm run bench -- http peering\` for some of the sections
(${Object.keys(SECTIONS).join(', ')}), or \`npm run bench:report\` for this page. Let the machine do nothing else meanwhile.

## Curves

${charts.map(({ file, chart }) => `![${chart.title}](${CHARTS}/${file})\n\n${pointTable(chart)}`).join('\n\n')}

## Figures

"Wanted" is the bound that the project has set itself; where it is no ratio, for a machine with ${REFERENCE}.

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
    ['bare `node:http`, 1 KB, 64 at once', `${Math.round(await bareRate()).toLocaleString('en')}/s`],
    ['`fdatasync` after 4 KiB, p50', `${syncMs(tmpdir()).toFixed(2)} ms`],
  ];
}

async function bareRate(): Promise<number> {
  const body = JSON.stringify({ text: 'x'.repeat(1_000) });
  await using bare = await startBare({ headers: { 'content-type': 'application/json' }, text: body });
  return await load({ url: `${bare.address}/`, atOnce: 64, seconds: 3 });
}

function figureTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, measured, wanted = '', reached }) => {
    const verdict = reached === undefined ? '' : reached ? 'reached' : '**missed**';
    return `| ${name} | ${measured} | ${wanted} | ${verdict} |`;
  });
  return ['| what | measured | wanted | |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

/** The points of a chart, for those who cannot see it. */
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
