/** What a request says about who asks: its token, its partition, where it comes from. */
import type { Call } from '../http/call.ts';
import { ServiceError } from '../http/errors.ts';
import { PARTITION, PARTITION_HEADER } from '../http/v1/parameters.ts';
import { SECRET_CHARACTERS_MAX } from './limits.ts';
import type { Asked } from './operation.ts';
import { hashSecret } from './secret.ts';

/**
 * Reads token and partition from the headers and the query.
 * @param consul also takes `X-Consul-Token`, after the two of our own
 * @throws ServiceError `bad-request` when two different tokens are given
 */
export function askedBy({ id, request, query, body }: Call, consul: boolean): Asked {
  const secret = presentedSecret(request.headers, consul);
  return {
    secretHash: secret === undefined ? undefined : hashSecret(secret),
    partitions: { query: query.get(PARTITION.name), header: single(request.headers[PARTITION_KEY]) },
    address: request.socket.remoteAddress ?? '',
    requestId: id,
    connection: request.socket,
    bodyBytes: body.length,
  };
}

/** As Node has it. */
const PARTITION_KEY = PARTITION_HEADER.name.toLowerCase();

type Headers = Call['request']['headers'];

const BEARER = /^bearer +(\S+) *$/i;

function presentedSecret(headers: Headers, consul: boolean): string | undefined {
  const own = single(headers['x-service-token']);
  const bearer = headers.authorization === undefined ? undefined : bearerToken(headers.authorization);
  if (own !== undefined && bearer !== undefined && own !== bearer) {
    throw new ServiceError('bad-request', 'X-Service-Token and Authorization name different tokens: want one');
  }
  const secret = own ?? bearer ?? (consul ? single(headers['x-consul-token']) : undefined);
  if (secret !== undefined && secret.length > SECRET_CHARACTERS_MAX) {
    throw new ServiceError('permission-denied', 'ACL not found');
  }
  return secret;
}

/** Another scheme names no token of ours: a proxy's own credentials may pass through. */
function bearerToken(header: string): string | undefined {
  return BEARER.exec(header)?.[1];
}

/** Empty counts as absent; of several, Node joins them, and such a value matches nothing. */
function single(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value.join(',') : value;
  return text === undefined || text === '' ? undefined : text;
}
