/** `…/authentication-token`, `…/authentication-tokens` and `/organizations/:name/team-tokens`. */
import { userTokens } from '../../credentials/user.ts';
import type { Answer } from '../../http/answer.ts';
import { type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Caller } from '../authorization/caller.ts';
import { organizationWithTeams } from '../authorization/find-visible.ts';
import { type AnyToken, showToken, tokenSchema, withoutUse } from '../documents/authentication-token-to-json.ts';
import { serveRead, serveRemoval, serveWrite, type TeamAccess } from '../http/request-pipeline.ts';
import { type Document, documentAnswer, IF_MATCH, ifMatch, tagOf, writtenAnswer } from '../jsonapi/documents.ts';
import { notFound } from '../jsonapi/errors.ts';
import { onPage, PAGE_PARAMETERS, pageDocument, readPageAlways } from '../jsonapi/pagination.ts';
import type { Given } from '../jsonapi/read-attributes.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { documentOf, pageOf } from '../jsonapi/schemas.ts';
import { apiTokens } from '../tables/authentication-token.ts';
import { createToken, deleteToken, newTokenSchema, plainToken, type TokenOwner } from './change-token.ts';
import { organizationOwner, selfOwner, teamOwner, teamTokens, tokenById } from './find-token.ts';

/** Whose token a request is about. @throws JsonApiError `not-found` */
type OwnerOf = (reader: Reader, caller: Caller, call: Call) => TokenOwner;

const ofOrganization: OwnerOf = (reader, caller, call) =>
  organizationOwner(reader, caller, pathParameter(call, 'name'));
const ofTeam =
  (plain: boolean): OwnerOf =>
  (reader, caller, call) =>
    teamOwner(reader, caller, pathParameter(call, 'id'), plain);
const ofUser: OwnerOf = (_, caller, call) => selfOwner(caller, pathParameter(call, 'id'));

export function tokenEndpoints(service: TeamAccess): Endpoint[] {
  const create = (path: string, summary: string, ownerOf: OwnerOf): Endpoint => ({
    method: 'POST',
    path,
    summary,
    body: newTokenSchema,
    answer: documentOf(tokenSchema),
    status: 201,
    handle: (call) =>
      serveWrite(service, call, {
        parse: () => readTokenAttributes(call.body),
        change(writing, attributes) {
          const owner = ownerOf(writing.tx, writing.caller, call);
          const { token, secret } = createToken(writing, owner, attributes);
          return documentAnswer(call, { data: showToken(writing.tx, token, secret) }, 201);
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
    answer: documentOf(tokenSchema),
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
      serveRemoval(service, call, (writing) => {
        const token = find(writing.tx, writing.caller, call);
        ifMatch(call)(() => withoutUses(tokenDocument(writing.tx, token)));
        deleteToken(writing, token);
      }),
  });
  const list = (
    path: string,
    summary: string,
    all: (reader: Reader, caller: Caller, call: Call) => readonly AnyToken[],
  ): Endpoint => ({
    method: 'GET',
    path,
    summary,
    conditional: true,
    query: PAGE_PARAMETERS,
    answer: pageOf(tokenSchema),
    handle: (call) =>
      serveRead(service, call, (reader, caller) => {
        const page = readPageAlways(call.query);
        const tokens = all(reader, caller, call);
        const data = onPage(tokens, page).map((token) => showToken(reader, token));
        return tokensAnswer(call, pageDocument(call, page, { data, totalCount: tokens.length }));
      }),
  });
  const plain = (ownerOf: OwnerOf) => (reader: Reader, caller: Caller, call: Call) => {
    const token = plainToken(reader, ownerOf(reader, caller, call));
    if (token === undefined) throw notFound();
    return token;
  };
  const plainEndpoints = (path: string, of: string, ownerOf: OwnerOf): Endpoint[] => [
    create(path, `Makes the token of ${of}; the one before is revoked`, ownerOf),
    read(path, `Reads the token of ${of}, without its secret`, plain(ownerOf)),
    remove(path, `Revokes the token of ${of}`, plain(ownerOf)),
  ];
  const byId = (reader: Reader, caller: Caller, call: Call) => tokenById(reader, caller, pathParameter(call, 'id'));

  return [
    ...plainEndpoints('/api/v2/organizations/:name/authentication-token', 'an organization', ofOrganization),
    ...plainEndpoints('/api/v2/teams/:id/authentication-token', 'a team', ofTeam(true)),
    create('/api/v2/teams/:id/authentication-tokens', 'Makes a further token of a team', ofTeam(false)),
    list('/api/v2/teams/:id/authentication-tokens', 'Lists the tokens of a team', (reader, caller, call) => {
      ofTeam(false)(reader, caller, call);
      return byAge(reader.list(apiTokens, 'team', pathParameter(call, 'id')));
    }),
    list(
      '/api/v2/organizations/:name/team-tokens',
      "Lists the tokens of an organization's teams",
      (reader, caller, call) => teamTokens(reader, organizationWithTeams(reader, caller, pathParameter(call, 'name'))),
    ),
    create('/api/v2/users/:id/authentication-tokens', 'Makes a token of the calling user', ofUser),
    list('/api/v2/users/:id/authentication-tokens', "Lists the calling user's tokens", (reader, caller, call) => {
      ofUser(reader, caller, call);
      return byAge(reader.list(userTokens, 'user', pathParameter(call, 'id')));
    }),
    read('/api/v2/authentication-tokens/:id', 'Reads a token, without its secret', byId),
    remove('/api/v2/authentication-tokens/:id', 'Revokes a token', byId),
  ];
}

const tokenDocument = (reader: Reader, token: AnyToken): Document => ({ data: showToken(reader, token) });

/** An answer to a GET, with the tag of `withoutUses`. */
const tokensAnswer = (call: Call, document: Document): Answer =>
  writtenAnswer(call, { text: JSON.stringify(document), tag: tagOf(withoutUses(document)) });

/**
 * What the `ETag` of tokens is made of: a use of a token is no change of it, and must not make an `If-Match` fail. So a 304
 * can stand for an answer with an older `last-used-at` than there is.
 */
const withoutUses = ({ data, ...document }: Document): Document => ({
  ...document,
  data: [data ?? []].flat().map(withoutUse),
});

/** Clients send nothing at all where they want nothing in particular. */
const readTokenAttributes = (body: Buffer): Given =>
  body.length === 0
    ? {}
    : readResource(body, { type: 'authentication-tokens', alsoType: 'authentication-token', updates: null }).attributes;

/** One commit makes one token. */
const byAge = <Token>(tokens: readonly { readonly row: Token; readonly createIndex: number }[]): readonly Token[] =>
  tokens.toSorted((a, b) => a.createIndex - b.createIndex).map(({ row }) => row);
