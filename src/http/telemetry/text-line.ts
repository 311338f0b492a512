/** Log lines for people: `12:01:02.345 WARN  the store is silent node=a silenceMs=12000`. */

/** Turns a JSON line of the log into a line of text; an error's stack follows indented. */
export function textLine(json: string): string {
  const { time, level, msg, error, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const head = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)} ${oneLine(String(msg ?? ''))}`;
  const tail = Object.entries(fields).map(([name, value]) => ` ${name}=${fieldText(value)}`);
  return `${head}${tail.join('')}${error === undefined ? '' : errorText(error)}\n`;
}

function fieldText(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
}

function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ` error=${JSON.stringify(error)}`;
  const { name, message, stack, cause } = error as Record<string, unknown>;
  const lines = typeof stack === 'string' ? stack.split('\n') : [`${String(name)}: ${String(message)}`];
  return `${lines.map((line) => `\n    ${line.trim()}`).join('')}${cause === undefined ? '' : `\n    caused by${errorText(cause)}`}`;
}

/** A message may quote what someone sent: it must not begin a line of its own. */
const oneLine = (text: string): string => text.replaceAll(/[\r\n\u2028\u2029]+/g, ' ');
