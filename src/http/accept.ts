/** Content negotiation: `Accept` and `Accept-Encoding`. */

/** Whether `accept` lists the media type literally. Wildcards do not count. */
export function acceptsExactly(accept: string | undefined, mediaType: string): boolean {
  return accept !== undefined && qualityOf(accept, [mediaType]) > 0;
}

export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return typeof acceptEncoding === 'string' && qualityOf(acceptEncoding, ['gzip', 'x-gzip', '*']) > 0;
}

/** Returns the `q` of the first of `names` that the list contains, or 0. RFC 9110, 12.4.2. */
function qualityOf(list: string, names: readonly string[]): number {
  const qualities = new Map<string, number>();
  for (const item of list.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    qualities.set(name, quality === undefined ? 1 : Number(quality.slice(2)) || 0);
  }
  for (const name of names) {
    const quality = qualities.get(name);
    if (quality !== undefined) return quality;
  }
  return 0;
}
