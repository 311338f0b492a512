/** Times as clients write them: RFC 3339, section 5.6. */

/** With the offset and the seconds that `Date.parse` would let be left out. */
const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Milliseconds since 1970, what is finer cut off; `undefined` when `text` is no time. */
export function parseTime(text: string): number | undefined {
  const date = RFC_3339.exec(text)?.slice(1).map(Number);
  if (date === undefined || !isDay(date)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** `Date.parse` takes February 30 for March 2. */
function isDay([year = 0, month = 0, day = 0]: readonly number[]): boolean {
  const dayBeforeNextMonth = new Date(0);
  dayBeforeNextMonth.setUTCFullYear(year, month, 0);
  return day <= dayBeforeNextMonth.getUTCDate();
}
