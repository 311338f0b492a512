/** What a client says it can take. */

/** Whether `accept` names the media type itself; wildcards are no wish for a particular one. */
export function acceptsExactly(accept: string | undefined, mediaType: string): boolean {
  return accept !== undefined && weightOf(accept, [mediaType]) > 0;
}

/** Whether an `Accept-Encoding` allows gzip. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return typeof acceptEncoding === 'string' && weightOf(acceptEncoding, ['gzip', 'x-gzip', '*']) > 0;
}

/** The `q` of the first of `names` that stands in the list, 0 when none does. RFC 9110, 12.4.2. */
function weightOf(list: string, names: readonly string[]): number {
  const weights = new Map<string, number>();
  for (const item of list.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  for (const name of names) {
    const weight = weights.get(name);
    if (weight !== undefined) return weight;
  }
  return 0;
}
