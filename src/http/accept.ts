/** Content negotiation: `Accept` and `Accept-Encoding`. */

/** Whether `accept` lists the media type literally. Wildcards do not count. */
export function acceptsExactly(accept: string | undefined, mediaType: string): boolean {
  return accept !== undefined && qualityOf(accept, [mediaType]) > 0;
}

export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return typeof acceptEncoding === 'string' && qualityOf(acceptEncoding, ['gzip', 'x-gzip', '*']) > 0;
}

/** Whether an `Accept` header allows a media type. The most specific matching range decides (RFC 9110, 12.5.1). */
export function acceptsMediaType(accept: string, mediaType: string): boolean {
  const [kind = ''] = mediaType.split('/');
  return qualityOf(accept, [mediaType, `${kind}/*`, '*/*']) > 0;
}

/**
 * Returns the `q` of the first of `names` that the list contains, or 0 (RFC 9110, 12.4.2). Of a repeated name, the
 * highest counts.
 */
function qualityOf(list: string, names: readonly string[]): number {
  const qualities = new Map<string, number>();
  for (const item of list.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const given = parameters.find((parameter) => parameter.startsWith('q='));
    const quality = given === undefined ? 1 : Number(given.slice(2)) || 0;
    qualities.set(name, Math.max(qualities.get(name) ?? 0, quality));
  }
  const match = names.find((name) => qualities.has(name));
  return match === undefined ? 0 : (qualities.get(match) ?? 0);
}
