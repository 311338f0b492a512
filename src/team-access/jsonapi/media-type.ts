/** Content negotiation: the media type that a write must declare and that a client must accept. */
import type { Call } from '../../http/call.ts';
import { JsonApiError } from './errors.ts';

export const JSON_API_MEDIA_TYPE = 'application/vnd.api+json';

export const JSON_API_CONTENT_TYPE = `${JSON_API_MEDIA_TYPE}; charset=utf-8`;

/** Rejects a request whose `Accept` header excludes both `mediaType` and JSON:API. @throws JsonApiError `not-acceptable` */
export function checkAccept({ request: { headers } }: Call, mediaType = JSON_API_MEDIA_TYPE): void {
  const { accept } = headers;
  if (
    accept === undefined ||
    accept.trim() === '' ||
    acceptsMediaType(accept, mediaType) ||
    acceptsMediaType(accept, JSON_API_MEDIA_TYPE)
  )
    return;
  throw new JsonApiError([{ code: 'not-acceptable', detail: `the answer is ${mediaType}` }]);
}

/**
 * Rejects a write whose `Content-Type` is not JSON:API. A `DELETE` without a body needs none ([TEAM-19]).
 * @throws JsonApiError `invalid-content-type`
 */
export function checkContentType({ request, body }: Call): void {
  if (request.method === 'DELETE' && body.length === 0) return;
  const declared = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (declared === JSON_API_MEDIA_TYPE) return;
  throw new JsonApiError([{ code: 'invalid-content-type', detail: `content-type must be ${JSON_API_MEDIA_TYPE}` }]);
}

/** Whether an `Accept` header allows a media type. The most specific matching range decides (RFC 9110, 12.5.1). */
export function acceptsMediaType(accept: string, mediaType: string): boolean {
  const [kind = ''] = mediaType.split('/');
  const weights = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(name, Math.max(weights.get(name) ?? 0, weight === undefined ? 1 : Number(weight.slice(2)) || 0));
  }
  const match = [mediaType, `${kind}/*`, '*/*'].find((name) => weights.has(name));
  return match !== undefined && (weights.get(match) ?? 0) > 0;
}
