/** The endpoints of tokens of users, teams, and organizations [AUTHZ-72 to AUTHZ-82]. */
import { userTokens } from '../../credentials/user.ts';
import { type Answer, type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { oneStep, runAtOnce, type Steps } from '../../state/clock/slices.ts';
import { listInSlices, type Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly, Table } from '../../state/table.ts';
import type { Caller } from '../authorization/caller.ts';
import { organizationWithTeams } from '../authorization/find-visible.ts';
import { isSiteAdmin } from '../authorization/site-admin.ts';
import {
  type AnyToken,
  createdTokenToJson,
  tokenSchema,
  tokenToJson,
  withoutLastUsed,
} from '../documents/authentication-token-to-json.ts';
import {
  serveDelete,
  serveLargeWrite,
  serveLongRead,
  serveRead,
  serveWrite,
  type TeamAccessService,
} from '../http/request-pipeline.ts';
import {
  type Document,
  documentAnswer,
  etagOf,
  IF_MATCH,
  ifMatch,
  NO_CONTENT,
  serializedAnswer,
} from '../jsonapi/documents.ts';
import { notFound } from '../jsonapi/errors.ts';
import {
  PAGE_PARAMETERS,
  pageDocument,
  readPageOrDefault,
  slicePage,
  sortByCreationAndId,
} from '../jsonapi/pagination.ts';
import { type RawAttributes, readResource } from '../jsonapi/read-resource.ts';
import { documentSchema, pageSchema } from '../jsonapi/schemas.ts';
import { apiTokens } from '../tables/authentication-token.ts';
import {
  createToken,
  deleteToken,
  hasCreatedMany,
  newTokenSchema,
  revokeCreatedTokens,
  singleToken,
  type TokenOwner,
} from './change-token.ts';
import { createdTokens, organizationOwner, selfOwner, teamOwner, teamTokens, tokenById } from './find-token.ts';

const CREATED_TOKENS = '/api/v2/admin/users/:id/authentication-tokens';

/** Finds the owner of the tokens that a request names, and authorizes the caller. @throws JsonApiError `not-found` */
type FindOwner = (reader: Reader, caller: Caller, call: Call) => TokenOwner;

const organizationOfPath: FindOwner = (reader, caller, call) =>
  organizationOwner(reader, caller, pathParameter(call, 'name'));
const teamOfPath =
  (single: boolean): FindOwner =>
  (reader, caller, call) =>
    teamOwner(reader, caller, pathParameter(call, 'id'), single);
const userOfPath: FindOwner = (_, caller, call) => selfOwner(caller, pathParameter(call, 'id'));

export function tokenEndpoints(service: TeamAccessService): Endpoint[] {
  const create = (path: string, summary: string, findOwner: FindOwner): Endpoint => ({
    method: 'POST',
    path,
    summary,
    body: newTokenSchema,
    answer: documentSchema(tokenSchema),
    status: 201,
    handle: (call) =>
      serveWrite(service, call, {
        parse: () => readTokenAttributes(call.body),
        change(context, attributes) {
          const owner = findOwner(context.tx, context.caller, call);
          const { token, secret } = createToken(context, owner, attributes);
          return documentAnswer(call, { data: tokenToJson(context.tx, token, secret) }, 201);
        },
      }),
  });
  const read = (
    path: string,
    summary: string,
    find: (reader: Reader, caller: Caller, call: Call) => AnyToken,
  ): Endpoint => ({
    method: 'GET',
    path,
    summary,
    conditional: true,
    answer: documentSchema(tokenSchema),
    handle: (call) =>
      serveRead(service, call, (reader, caller) =>
        tokensAnswer(call, tokenDocument(reader, find(reader, caller, call))),
      ),
  });
  const remove = (
    path: string,
    summary: string,
    find: (reader: Reader, caller: Caller, call: Call) => AnyToken,
  ): Endpoint => ({
    method: 'DELETE',
    path,
    summary,
    headers: [IF_MATCH],
    status: 204,
    handle: (call) =>
      serveDelete(service, call, (context) => {
        const token = find(context.tx, context.caller, call);
        ifMatch(call)(() => withoutLastUsedTimes(tokenDocument(context.tx, token)));
        deleteToken(context, token);
      }),
  });
  const list = (
    path: string,
    summary: string,
    all: (reader: Reader, caller: Caller, call: Call) => Steps<readonly AnyToken[]>,
  ): Endpoint => ({
    method: 'GET',
    path,
    summary,
    conditional: true,
    query: PAGE_PARAMETERS,
    answer: pageSchema(tokenSchema),
    handle: (call) =>
      serveLongRead(service, call, function* (reader, caller) {
        const page = readPageOrDefault(call.query);
        const tokens = yield* all(reader, caller, call);
        const data = slicePage(tokens, page).map((token) => tokenToJson(reader, token));
        return tokensAnswer(call, pageDocument(call, page, { data, totalCount: tokens.length }));
      }),
  });
  const findSingle = (findOwner: FindOwner) => (reader: Reader, caller: Caller, call: Call) => {
    const token = singleToken(reader, findOwner(reader, caller, call));
    if (token === undefined) throw notFound();
    return token;
  };
  const singleTokenEndpoints = (path: string, owner: string, findOwner: FindOwner): Endpoint[] => [
    create(path, `Creates the token of ${owner} and revokes the previous one`, findOwner),
    read(path, `Reads the token of ${owner} without its secret`, findSingle(findOwner)),
    remove(path, `Revokes the token of ${owner}`, findSingle(findOwner)),
  ];
  const byId = (reader: Reader, caller: Caller, call: Call) => tokenById(reader, caller, pathParameter(call, 'id'));

  return [
    ...singleTokenEndpoints('/api/v2/organizations/:name/authentication-token', 'an organization', organizationOfPath),
    ...singleTokenEndpoints('/api/v2/teams/:id/authentication-token', 'a team', teamOfPath(true)),
    create('/api/v2/teams/:id/authentication-tokens', 'Creates another token of a team', teamOfPath(false)),
    list('/api/v2/teams/:id/authentication-tokens', 'Lists the tokens of a team', function* (reader, caller, call) {
      teamOfPath(false)(reader, caller, call);
      return yield* tokensByCreation(reader, apiTokens, 'team', pathParameter(call, 'id'));
    }),
    list(
      '/api/v2/organizations/:name/team-tokens',
      "Lists the tokens of an organization's teams",
      (reader, caller, call) => teamTokens(reader, organizationWithTeams(reader, caller, pathParameter(call, 'name'))),
    ),
    create('/api/v2/users/:id/authentication-tokens', 'Creates a token of the calling user', userOfPath),
    list(
      '/api/v2/users/:id/authentication-tokens',
      "Lists the calling user's tokens",
      function* (reader, caller, call) {
        userOfPath(reader, caller, call);
        return yield* tokensByCreation(reader, userTokens, 'user', pathParameter(call, 'id'));
      },
    ),
    {
      method: 'GET',
      path: CREATED_TOKENS,
      summary: 'Lists the tokens of teams and organizations that a user created. Only for site administrators',
      conditional: true,
      query: PAGE_PARAMETERS,
      answer: pageSchema(tokenSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const page = readPageOrDefault(call.query);
          const tokens = yield* createdTokens(reader, caller, pathParameter(call, 'id'));
          const data = slicePage(tokens, page).map((token) => createdTokenToJson(reader, token));
          return tokensAnswer(call, pageDocument(call, page, { data, totalCount: tokens.length }));
        }),
    },
    {
      method: 'DELETE',
      path: CREATED_TOKENS,
      summary: 'Revokes all tokens of teams and organizations that a user created. Only for site administrators',
      status: 204,
      handle: (call) =>
        serveLargeWrite(service, call, {
          parse: () => oneStep(() => pathParameter(call, 'id')),
          isLarge: (reader, caller) => isSiteAdmin(caller) && hasCreatedMany(reader, pathParameter(call, 'id')),
          *change(context, userId) {
            yield* createdTokens(context.tx, context.caller, userId);
            yield* revokeCreatedTokens(context, userId);
            return NO_CONTENT;
          },
        }),
    },
    {
      method: 'DELETE',
      path: `${CREATED_TOKENS}/:token`,
      summary: 'Revokes a token of a team or an organization that a user created. Only for site administrators',
      status: 204,
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => undefined,
          change(context) {
            const id = pathParameter(call, 'token');
            const tokens = runAtOnce(createdTokens(context.tx, context.caller, pathParameter(call, 'id')));
            const token = tokens.find((one) => one.id === id);
            if (token === undefined) throw notFound();
            deleteToken(context, token);
            return NO_CONTENT;
          },
        }),
    },
    read('/api/v2/authentication-tokens/:id', 'Reads a token without its secret', byId),
    remove('/api/v2/authentication-tokens/:id', 'Revokes a token', byId),
  ];
}

function* tokensByCreation<Token extends AnyToken, Index extends string>(
  reader: Reader,
  table: Table<Token, Index>,
  index: Index,
  entry: string,
): Steps<readonly DeepReadonly<Token>[]> {
  return (yield* sortByCreationAndId(yield* listInSlices(reader, table, index, entry))).map(({ row }) => row);
}

const tokenDocument = (reader: Reader, token: AnyToken): Document => ({ data: tokenToJson(reader, token) });

/** Answers a GET. The `ETag` ignores `last-used-at`. */
const tokensAnswer = (call: Call, document: Document): Answer =>
  serializedAnswer(call, { text: JSON.stringify(document), etag: etagOf(withoutLastUsedTimes(document)) });

/** Returns what the `ETag` covers [DOC-20], because a use of a token must not make an `If-Match` fail. */
const withoutLastUsedTimes = ({ data, ...document }: Document): Document => ({
  ...document,
  data: [data ?? []].flat().map(withoutLastUsed),
});

/** Reads the attributes of a new token. The body may be empty [AUTHZ-82]. */
const readTokenAttributes = (body: Buffer): RawAttributes =>
  body.length === 0
    ? {}
    : readResource(body, { type: 'authentication-tokens', typeAlias: 'authentication-token', updates: null })
        .attributes;
