/** RFC 3339, section 5.6. Requires the seconds and the offset, which are optional for `Date.parse`. */
const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Parses an RFC 3339 time [V1-40] to whole milliseconds since 1970. Returns undefined for any other text. */
export function parseTime(text: string): number | undefined {
  const date = RFC_3339.exec(text)?.slice(1).map(Number);
  if (date === undefined || !isCalendarDay(date)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Whether the day exists. `Date.parse` reads February 30 as March 2. */
function isCalendarDay([year = 0, month = 0, day = 0]: readonly number[]): boolean {
  const dayBeforeNextMonth = new Date(0);
  dayBeforeNextMonth.setUTCFullYear(year, month, 0);
  return day <= dayBeforeNextMonth.getUTCDate();
}
