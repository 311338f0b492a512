/** `GET /v1/acl/tokens`. Supports blocking queries. */
import { Type } from 'typebox';
import type { Evaluate } from '../../http/blocking/blocking-query.ts';
import type { Query } from '../../http/call.ts';
import { countParameter, type Parameter, readCount } from '../../http/parameter.ts';
import { type JsonText, jsonList } from '../../http/v1/json-answer.ts';
import { type Steps, sortInSlices } from '../../state/clock/slices.ts';
import { listInSlices, type Reader } from '../../state/memory/reader.ts';
import { EXPIRY_INDEX, type Stored, type Table } from '../../state/table.ts';
import { type AclToken, aclTokens } from '../acl-token.ts';
import { aclTokenJsonText } from '../acl-token-to-json.ts';
import {
  authorize,
  type Caller,
  type Credentials,
  type RequestContext,
  readablePartitions,
  resolveCaller,
  waitOptionsOf,
  watchOwnToken,
} from '../caller.ts';
import { ALL_PARTITIONS, existingPartition, partitionKey, partitions } from '../partition.ts';

/** The requested part of the list; the whole list if both are undefined. */
export interface TokenPage {
  readonly after: string | undefined;
  readonly limit: number | undefined;
}

const LIMIT = countParameter('limit', 'The maximum number of tokens in the response.');
const AFTER: Parameter = {
  name: 'after',
  description: 'An accessor ID. The list begins with the next one.',
  schema: Type.String(),
};

export const TOKEN_PAGE: readonly Parameter[] = [LIMIT, AFTER];

/** @throws ServiceError `bad-request` */
export function readTokenPage(query: Query): TokenPage {
  return { after: query.get(AFTER.name)?.toLowerCase() || undefined, limit: readCount(query, LIMIT) };
}

/** Lists the tokens of the requested partition, or of every readable one, by accessor ID [ACL-45]. */
export function listTokens(credentials: Credentials, context: RequestContext, page: TokenPage): Evaluate {
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition } = resolveCaller(credentials, snapshot, context, true);
    const { names, filtered } = partitionsToList(snapshot, caller, partition);
    const keys = names.map(partitionKey);
    const watched = keys.map((key) => state.watchEntry(aclTokens, 'partition', key));
    if (partition === ALL_PARTITIONS) {
      watched.push(state.watchEntry(partitions, 'all', ''), ...watchOwnToken(credentials, caller));
    }
    const isUnpaged = page.after === undefined && page.limit === undefined;
    const shareKey = isUnpaged ? JSON.stringify([keys, nextToExpire(snapshot)]) : undefined;
    return {
      ...waitOptionsOf(caller),
      watched,
      filtered,
      shareKey,
      *longBody() {
        return { json: yield* listJsonText(snapshot, keys, page) };
      },
    };
  };
}

/**
 * Returns the token that expires next. A shared list becomes stale when it expires, before a commit removes its row.
 */
function nextToExpire(reader: Reader): string | undefined {
  const table: Table<AclToken> = aclTokens;
  return reader.first(table, EXPIRY_INDEX)?.row.accessorId;
}

function partitionsToList(
  reader: Reader,
  caller: Caller,
  partition: string,
): { readonly names: readonly string[]; readonly filtered: boolean } {
  if (partition === ALL_PARTITIONS) return readablePartitions(reader, caller, 'acl');
  authorize(caller, { resource: 'acl', access: 'read', partition });
  return { names: [existingPartition(reader, partition)], filtered: false };
}

function* listJsonText(reader: Reader, keys: readonly string[], { after, limit }: TokenPage): Steps<JsonText> {
  const bounds = { ...(after === undefined ? {} : { after }), ...(limit === undefined ? {} : { limit }) };
  let tokens: Stored<AclToken>[] = [];
  for (const key of keys) {
    const found = yield* listInSlices(reader, aclTokens, 'partition', key, bounds);
    tokens = tokens.length === 0 ? found : tokens.concat(found);
  }
  if (keys.length > 1) {
    const sorted = yield* sortInSlices(tokens, (a, b) => (a.row.accessorId < b.row.accessorId ? -1 : 1));
    tokens = sorted.slice(0, limit);
  }
  return yield* jsonList(
    tokens,
    (token) => aclTokenJsonText(token).text,
    'ask for fewer with limit, and go on with after',
  );
}
