/** The media type of JSON:API's extension for atomic operations (https://jsonapi.org/ext/atomic/). */
import type { Call } from '../../../http/call.ts';
import { JsonApiError } from '../../jsonapi/errors.ts';
import { accepts, MEDIA_TYPE } from '../../jsonapi/media-type.ts';

const EXTENSION = 'https://jsonapi.org/ext/atomic';

/** As requests and answers declare it. */
export const OPERATIONS_TYPE = `${MEDIA_TYPE};ext="${EXTENSION}"`;

/** Refuses what declares or wants something else. @throws JsonApiError `invalid-content-type`, `not-acceptable` */
export function negotiateOperations({ request: { headers } }: Call): void {
  if (!isOperations(headers['content-type'] ?? '')) {
    throw new JsonApiError([{ code: 'invalid-content-type', detail: `content-type must be ${OPERATIONS_TYPE}` }]);
  }
  const { accept } = headers;
  if (accept === undefined || accept.trim() === '') return;
  // Of JSON:API with extensions that there are not, nothing counts (JSON:API 1.1, server responsibilities).
  const known = accept.split(',').filter((range) => extensionsOf(range).every((uri) => uri === EXTENSION));
  if (known.length > 0 && accepts(known.join(','), MEDIA_TYPE)) return;
  throw new JsonApiError([{ code: 'not-acceptable', detail: `the answer is ${OPERATIONS_TYPE}` }]);
}

function isOperations(declared: string): boolean {
  const name = declared.split(';', 1)[0]?.trim().toLowerCase();
  const extensions = extensionsOf(declared);
  return name === MEDIA_TYPE && extensions.length > 0 && extensions.every((uri) => uri === EXTENSION);
}

/** The extensions that a media type names: URIs, separated by spaces, in quotes. */
const extensionsOf = (mediaType: string): readonly string[] =>
  /;\s*ext\s*=\s*"([^"]*)"/i
    .exec(mediaType)?.[1]
    ?.split(' ')
    .filter((uri) => uri !== '') ?? [];
