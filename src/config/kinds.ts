/** Kinds of values: parsing, formatting, and the description for error messages. */

export interface Kind<T> {
  /** The end of the sentence "want …" in error messages. */
  readonly wanted: string;
  /** Parses trimmed text. Returns `undefined` for an invalid value. */
  parse(text: string): T | undefined;
  /**
   * Formats a value so that `parse` returns it. A method, because methods are bivariant and one table holds all kinds.
   */
  format(value: T): string;
  /** Present if the value is a list. The YAML file may then contain a sequence. */
  readonly isList?: true;
}

export function text(pattern: RegExp, wanted: string): Kind<string> {
  return { wanted, parse: (given) => (pattern.test(given) ? given : undefined), format: (value) => value };
}

/** A path, relative to the working directory. NUL cannot be in one. */
export const path: Kind<string> = text(/^[^\0]+$/, 'a path');

export function oneOf<const T extends string>(...words: readonly T[]): Kind<T> {
  return {
    wanted: words.length === 2 ? words.join(' or ') : `one of ${words.join(', ')}`,
    parse: (given) => words.find((word) => word === given),
    format: (value) => value,
  };
}

export const boolean: Kind<boolean> = {
  wanted: 'true or false',
  parse: (given) => (given === 'true' ? true : given === 'false' ? false : undefined),
  format: String,
};

/** Bounds of a number. `zero` describes the meaning of 0, if 0 is allowed although it is below `min`. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly zero?: string;
}

const within = (value: number, { min, max, zero }: Bounds): boolean =>
  (value >= min && value <= max) || (value === 0 && zero !== undefined);

const orZero = ({ zero }: Bounds): string => (zero === undefined ? '' : `, or 0 (${zero})`);

export function integer(bounds: Bounds): Kind<number> {
  return {
    wanted: `a whole number from ${bounds.min} to ${bounds.max}${orZero(bounds)}`,
    parse: (given) => (/^\d{1,15}$/.test(given) && within(Number(given), bounds) ? Number(given) : undefined),
    format: String,
  };
}

const DURATION_UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

const DURATION = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;

/** Parses `10s`, `5m`, `1m30s`, `7d`, or `0` into milliseconds. Returns `undefined` for anything else. */
export function parseDuration(given: string): number | undefined {
  if (given === '0') return 0;
  const parts = DURATION.exec(given);
  if (given === '' || parts === null) return undefined;
  return DURATION_UNITS.reduce((sum, [, unitMs], i) => sum + Number(parts[i + 1] ?? 0) * unitMs, 0);
}

/** Formats milliseconds as the shortest duration: `1m30s` for 90,000. */
export function formatDuration(durationMs: number): string {
  let rest = durationMs;
  let written = '';
  for (const [unit, unitMs] of DURATION_UNITS) {
    const count = Math.floor(rest / unitMs);
    if (count > 0) written += `${count}${unit}`;
    rest -= count * unitMs;
  }
  return written === '' ? '0' : written;
}

/** Returns the kind of durations. Value, bounds, and `step`, of which the value is a multiple, are in milliseconds. */
export function duration(bounds: Bounds & { readonly step?: 1_000 }): Kind<number> {
  const { step = 1 } = bounds;
  return {
    wanted:
      `a duration such as 10s, 1m30s or 7d${step === 1 ? '' : ' in whole seconds'}, ` +
      `from ${formatDuration(bounds.min)} to ${formatDuration(bounds.max)}${orZero(bounds)}`,
    parse(given) {
      const durationMs = parseDuration(given);
      return durationMs !== undefined && within(durationMs, bounds) && durationMs % step === 0 ? durationMs : undefined;
    },
    format: formatDuration,
  };
}

const SIZE_UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;

/** Returns the kind of sizes in bytes: `1048576`, `64 KiB`, `1 MiB`. Rejects decimal units, because MB is ambiguous. */
export function byteSize(bounds: Bounds): Kind<number> {
  return {
    wanted: `a size such as 64 KiB or 1 MiB, from ${formatBytes(bounds.min)} to ${formatBytes(bounds.max)}`,
    parse(given) {
      const parts = /^(\d{1,12}) ?(B|KiB|MiB|GiB)?$/.exec(given);
      if (parts === null) return undefined;
      const bytes = Number(parts[1]) * SIZE_UNITS[(parts[2] ?? 'B') as keyof typeof SIZE_UNITS];
      return within(bytes, bounds) ? bytes : undefined;
    },
    format: formatBytes,
  };
}

function formatBytes(bytes: number): string {
  const unit = (['GiB', 'MiB', 'KiB'] as const).find((name) => bytes > 0 && bytes % SIZE_UNITS[name] === 0) ?? 'B';
  return `${bytes / SIZE_UNITS[unit]} ${unit}`;
}

export function orOff<T>(kind: Kind<T>): Kind<T | 'off'> {
  return {
    wanted: `${kind.wanted}, or off`,
    parse: (given) => (given === 'off' ? 'off' : kind.parse(given)),
    format: (value) => (value === 'off' ? 'off' : kind.format(value)),
  };
}

/**
 * Returns the kind of comma-separated lists without duplicates. The text `none` is the empty list, if that is allowed.
 */
export function list<T>(kind: Kind<T>, { emptyAllowed }: { readonly emptyAllowed: boolean }): Kind<readonly T[]> {
  return {
    wanted: `a list with commas, none twice, each ${kind.wanted}${emptyAllowed ? ', or none' : ''}`,
    parse(given) {
      if (emptyAllowed && (given === 'none' || given === '')) return [];
      const values: T[] = [];
      const seen = new Set<string>();
      for (const item of given.split(',')) {
        const value = kind.parse(item.trim());
        if (value === undefined || seen.has(kind.format(value))) return undefined;
        seen.add(kind.format(value));
        values.push(value);
      }
      return values;
    },
    format: (values) => (values.length === 0 ? 'none' : values.map(kind.format).join(',')),
    isList: true,
  };
}
