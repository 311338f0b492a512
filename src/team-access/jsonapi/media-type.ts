/** The media type of JSON:API: what a request must declare, and what it must be able to take. */
import type { Call } from '../../http/call.ts';
import { JsonApiError } from './errors.ts';

/** As requests declare it. */
export const MEDIA_TYPE = 'application/vnd.api+json';

/** As answers declare it. */
export const JSON_API = `${MEDIA_TYPE}; charset=utf-8`;

/** Refuses a request whose `Accept` rules JSON:API out. @throws JsonApiError `not-acceptable` */
export function checkAccept({ request: { headers } }: Call, mediaType = MEDIA_TYPE): void {
  const { accept } = headers;
  if (accept === undefined || accept.trim() === '' || accepts(accept, mediaType) || accepts(accept, MEDIA_TYPE)) return;
  throw new JsonApiError([{ code: 'not-acceptable', detail: `the answer is ${mediaType}` }]);
}

/**
 * Refuses a write that does not declare its body to be JSON:API; one without a body that needs none declares nothing.
 * @throws JsonApiError `invalid-content-type`
 */
export function checkContentType({ request, body }: Call): void {
  if (request.method === 'DELETE' && body.length === 0) return;
  const declared = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (declared === MEDIA_TYPE) return;
  throw new JsonApiError([{ code: 'invalid-content-type', detail: `content-type must be ${MEDIA_TYPE}` }]);
}

/** Whether an `Accept` lets a media type pass: the most precise range that fits decides (RFC 9110, 12.5.1). */
export function accepts(accept: string, mediaType: string): boolean {
  const [kind = ''] = mediaType.split('/');
  const weights = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(name, Math.max(weights.get(name) ?? 0, weight === undefined ? 1 : Number(weight.slice(2)) || 0));
  }
  const fitting = [mediaType, `${kind}/*`, '*/*'].find((name) => weights.has(name));
  return fitting !== undefined && (weights.get(fitting) ?? 0) > 0;
}
