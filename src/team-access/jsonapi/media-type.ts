/** Media types of JSON:API in `Content-Type` and `Accept`: their names, and the extensions that they declare. */

export const JSON_API_MEDIA_TYPE = 'application/vnd.api+json';

/**
 * Whether a `Content-Type` is the media type that an endpoint wants. Parameters such as `charset` are ignored. A wanted
 * extension must be declared, and no other.
 */
export function isMediaType(declared: string | undefined, wanted: string): boolean {
  if (declared === undefined || nameOf(declared) !== nameOf(wanted)) return false;
  const extensions = extensionsOf(wanted);
  if (extensions.length === 0) return true;
  const given = extensionsOf(declared);
  return given.length > 0 && given.every((uri) => extensions.includes(uri));
}

export const contentTypeError = (wanted: string): string => `content-type must be ${wanted}`;

const nameOf = (mediaType: string): string | undefined => mediaType.split(';', 1)[0]?.trim().toLowerCase();

/** Returns the extensions of a media type: a quoted list of URIs, separated by spaces. */
export const extensionsOf = (mediaType: string): readonly string[] =>
  /;\s*ext\s*=\s*"([^"]*)"/i
    .exec(mediaType)?.[1]
    ?.split(' ')
    .filter((uri) => uri !== '') ?? [];
