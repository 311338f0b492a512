/** Renders a line chart as SVG, with logarithmic axes, a label at the end of each line, and light and dark colors. */

export interface Line {
  readonly name: string;
  /** Ordered by `x`. All values are above 0. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Chart {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly lines: readonly Line[];
}

const WIDTH = 760;
const HEIGHT = 400;
/** Space for the axes, and on the right for the labels of the lines. */
const MARGIN = { top: 48, right: 190, bottom: 52, left: 72 } as const;
/** Distinguishable with color vision deficiency, on white and on black. */
const COLORS = ['#3b7dd8', '#d9711c', '#2f9e6e', '#b0489c', '#8a7a2e', '#6a6fd1'] as const;
/** The minimum distance between two labels. */
const LABEL_HEIGHT = 16;

const STYLE = `text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-size:15px;font-weight:600}
.grid{stroke:#d0d7de}.line{fill:none;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.grid{stroke:#3d444d}}`;

/** @throws TypeError if no line has a point */
export function chartSvg({ title, x, y, lines }: Chart): string {
  const xs = axis(lines.flatMap(({ points }) => points.map(([value]) => value)));
  const ys = axis(lines.flatMap(({ points }) => points.map(([, value]) => value)));
  const right = WIDTH - MARGIN.right;
  const bottom = HEIGHT - MARGIN.bottom;
  const atX = (value: number): number => MARGIN.left + xs.position(value) * (right - MARGIN.left);
  const atY = (value: number): number => bottom - ys.position(value) * (bottom - MARGIN.top);
  const grid = [
    ...xs.ticks.map((tick) => {
      const at = round(atX(tick));
      return `<path class="grid" d="M${at} ${MARGIN.top}V${bottom}"/>${text(at, bottom + 18, formatTick(tick), 'middle')}`;
    }),
    ...ys.ticks.map((tick) => {
      const at = round(atY(tick));
      return `<path class="grid" d="M${MARGIN.left} ${at}H${right}"/>${text(MARGIN.left - 8, at + 4, formatTick(tick), 'end')}`;
    }),
  ];
  const names = spreadLabels(lines.map(({ points }) => atY(points.at(-1)?.[1] ?? 1)));
  const drawn = lines.map(({ name, points }, i) => {
    const color = COLORS[i % COLORS.length];
    const corners = points.map(([px, py]) => `${round(atX(px))} ${round(atY(py))}`);
    const dots = points.map(
      ([px, py]) => `<circle cx="${round(atX(px))}" cy="${round(atY(py))}" r="3" fill="${color}"/>`,
    );
    const label = `<text x="${right + 10}" y="${round((names[i] ?? 0) + 4)}" style="fill:${color}">${escapeXml(name)}</text>`;
    return `<path class="line" stroke="${color}" d="M${corners.join('L')}"/>${dots.join('')}${label}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeXml(title)}">`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="${MARGIN.left}" y="24">${escapeXml(title)}</text>`,
    ...grid,
    ...drawn,
    text((MARGIN.left + right) / 2, HEIGHT - 10, x, 'middle'),
    `<text transform="translate(18 ${(MARGIN.top + bottom) / 2}) rotate(-90)" text-anchor="middle">${escapeXml(y)}</text>`,
    '</svg>',
    '',
  ].join('\n');
}

interface Axis {
  readonly ticks: readonly number[];
  /** Returns the position of a value on the axis, from 0 to 1. */
  position(value: number): number;
}

/** Returns an axis whose ticks are the powers of ten around the values. */
function axis(values: readonly number[]): Axis {
  if (values.length === 0) throw new TypeError('the chart has no points');
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    ticks: Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i)),
    position: (value) => (Math.log10(value) - low) / (high - low),
  };
}

/** Moves the heights of labels down until no two overlap. */
function spreadLabels(heights: readonly number[]): number[] {
  const moved: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const { height, i } of heights.map((height, i) => ({ height, i })).sort((a, b) => a.height - b.height)) {
    last = Math.max(height, last + LABEL_HEIGHT);
    moved[i] = last;
  }
  return moved;
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** Formats 1,000,000 as `1M`. */
function formatTick(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`;
  return value >= 1e3 ? `${value / 1e3}k` : String(Number(value.toPrecision(3)));
}

const text = (x: number, y: number, content: string, anchor: string): string =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}">${escapeXml(content)}</text>`;

const escapeXml = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
