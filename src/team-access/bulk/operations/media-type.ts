/** The media type of the atomic operations extension of JSON:API [TEAM-61] (https://jsonapi.org/ext/atomic/). */
import type { Call } from '../../../http/call.ts';
import { JsonApiError } from '../../jsonapi/errors.ts';
import { acceptsMediaType, JSON_API_MEDIA_TYPE } from '../../jsonapi/media-type.ts';

const EXTENSION = 'https://jsonapi.org/ext/atomic';

export const OPERATIONS_TYPE = `${JSON_API_MEDIA_TYPE};ext="${EXTENSION}"`;

/** Checks `Content-Type` and `Accept`. @throws JsonApiError `invalid-content-type`, `not-acceptable` */
export function negotiateOperations({ request: { headers } }: Call): void {
  if (!isOperationsType(headers['content-type'] ?? '')) {
    throw new JsonApiError([{ code: 'invalid-content-type', detail: `content-type must be ${OPERATIONS_TYPE}` }]);
  }
  const { accept } = headers;
  if (accept === undefined || accept.trim() === '') return;
  // JSON:API 1.1, server responsibilities: ranges with unsupported extensions are ignored.
  const known = accept.split(',').filter((range) => extensionsOf(range).every((uri) => uri === EXTENSION));
  if (known.length > 0 && acceptsMediaType(known.join(','), JSON_API_MEDIA_TYPE)) return;
  throw new JsonApiError([{ code: 'not-acceptable', detail: `the answer is ${OPERATIONS_TYPE}` }]);
}

function isOperationsType(mediaType: string): boolean {
  const name = mediaType.split(';', 1)[0]?.trim().toLowerCase();
  const extensions = extensionsOf(mediaType);
  return name === JSON_API_MEDIA_TYPE && extensions.length > 0 && extensions.every((uri) => uri === EXTENSION);
}

/** Returns the extensions of a media type: a quoted list of URIs, separated by spaces. */
const extensionsOf = (mediaType: string): readonly string[] =>
  /;\s*ext\s*=\s*"([^"]*)"/i
    .exec(mediaType)?.[1]
    ?.split(' ')
    .filter((uri) => uri !== '') ?? [];
