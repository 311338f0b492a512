/** `GET /v1/acl/tokens`: the tokens of a partition, or with `partition=*` of all that the caller may read; can wait. */
import { Type } from 'typebox';
import type { Evaluate } from '../../http/blocking/blocking-query.ts';
import { countParameter, type Parameter, readCount } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import { type JsonText, jsonList } from '../../http/v1/json-answer.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { EXPIRY_INDEX, type Table } from '../../state/table.ts';
import { type AclToken, aclTokens, tokenText } from '../acl-token.ts';
import { authorize, type Caller } from '../caller.ts';
import { type Asked, type Credentials, locate, waitingAs, watchedGrants } from '../operation.ts';
import { partitionKey, partitions } from '../partition.ts';
import { readablePartitions } from '../readable-partitions.ts';
import { ALL_PARTITIONS, existingPartition } from '../request-partition.ts';

/** Where a page begins and how long it is; both may be left out. */
export interface TokenPage {
  readonly after: string | undefined;
  readonly limit: number | undefined;
}

const LIMIT = countParameter('limit', 'At most so many tokens.');
const AFTER: Parameter = {
  name: 'after',
  description: 'Only tokens whose accessor ID comes after this one.',
  schema: Type.String(),
};

/** What `readTokenPage` reads. */
export const TOKEN_PAGE: readonly Parameter[] = [LIMIT, AFTER];

/** Reads which tokens are asked for. @throws ServiceError `bad-request` */
export function readTokenPage(query: Query): TokenPage {
  return { after: query.get(AFTER.name)?.toLowerCase() || undefined, limit: readCount(query, LIMIT) };
}

/** The tokens by accessor ID. */
export function listTokens(credentials: Credentials, asked: Asked, page: TokenPage): Evaluate {
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition } = locate(credentials, snapshot, asked, true);
    const { names, filtered } = partitionsToList(snapshot, caller, partition);
    const keys = names.map(partitionKey);
    const watched = keys.map((key) => state.watchEntry(aclTokens, 'partition', key));
    if (partition === ALL_PARTITIONS) {
      watched.push(state.watchEntry(partitions, 'all', ''), ...watchedGrants(credentials, caller));
    }
    const isWhole = page.after === undefined && page.limit === undefined;
    const shareKey = isWhole ? JSON.stringify([keys, nextToExpire(snapshot)]) : undefined;
    return { ...waitingAs(caller), watched, filtered, shareKey, body: () => listText(snapshot, keys, page) };
  };
}

/** Another one whenever a token expires: the list is another one then, before any commit has removed the token. */
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

function listText(reader: Reader, keys: readonly string[], { after, limit }: TokenPage): JsonText {
  const bounds = { ...(after === undefined ? {} : { after }), ...(limit === undefined ? {} : { limit }) };
  let tokens = keys.flatMap((key) => reader.list(aclTokens, 'partition', key, bounds));
  if (keys.length > 1) {
    tokens = tokens.sort((a, b) => (a.row.accessorId < b.row.accessorId ? -1 : 1)).slice(0, limit);
  }
  return jsonList(tokens, (token) => tokenText(token).text, 'ask for fewer with limit, and go on with after');
}
