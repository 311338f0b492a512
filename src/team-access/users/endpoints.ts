/** The endpoints `/account/details`, `/users/:id`, and `/admin/users` [AUTHZ-66 to AUTHZ-71]. */
import { Type } from 'typebox';
import { addressOf, type User, users } from '../../credentials/user.ts';
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Parameter } from '../../http/parameter.ts';
import { filterInSlices, oneStep } from '../../state/clock/slices.ts';
import { allInSlices, type Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Caller } from '../authorization/caller.ts';
import { checkSiteAdmin, isSiteAdmin } from '../authorization/site-admin.ts';
import { serviceAccountToJson, userSchema, userToJson } from '../documents/user-to-json.ts';
import {
  readFlag,
  serveLargeWrite,
  serveLongRead,
  serveRead,
  serveWrite,
  type TeamAccessService,
} from '../http/request-pipeline.ts';
import {
  documentAnswer,
  IF_MATCH,
  ifMatch,
  longDocumentAnswer,
  NO_CONTENT,
  type Resource,
} from '../jsonapi/documents.ts';
import { notFound } from '../jsonapi/errors.ts';
import {
  NAME_FILTER,
  PAGE_PARAMETERS,
  pageDocument,
  readPageOrDefault,
  slicePage,
  sortByCreationAndId,
} from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { documentSchema, pageSchema } from '../jsonapi/schemas.ts';
import { organizations } from '../tables/organization.ts';
import { teams } from '../tables/team.ts';
import { hasCreatedMany } from '../tokens/change-token.ts';
import {
  claimUser,
  createFirstToken,
  createUser,
  deleteUser,
  newUserSchema,
  readNewUser,
  setSuspended,
  TRANSFER_TO,
} from './change-user.ts';
import { userById, viewerOf } from './find-user.ts';

const REVOKE_CREATED: Parameter = {
  name: 'revoke-created',
  description:
    'Without a value or with `true`, also revokes the tokens of teams and organizations that the user created.',
  schema: Type.Literal('true'),
  flag: true,
};

export function userEndpoints(service: TeamAccessService): Endpoint[] {
  const suspension = (action: string, summary: string, suspended: boolean): Endpoint => ({
    method: 'POST',
    path: `/api/v2/admin/users/:id/actions/${action}`,
    summary: `${summary}. Only for site administrators`,
    answer: documentSchema(userSchema),
    handle: (call) =>
      serveWrite(service, call, {
        parse: () => undefined,
        change(context) {
          const user = setSuspended(context, pathParameter(call, 'id'), suspended);
          return documentAnswer(call, { data: userToJson(user, viewerOf(context.caller, user.id)) });
        },
      }),
  });
  return [
    {
      method: 'GET',
      path: '/api/v2/account/details',
      summary: "Returns the user, team, or organization of the caller's token",
      conditional: true,
      answer: documentSchema(userSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => documentAnswer(call, { data: callerToJson(reader, caller) })),
    },
    {
      method: 'GET',
      path: '/api/v2/users/:id',
      summary: 'Reads a user',
      conditional: true,
      answer: documentSchema(userSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const user = userById(reader, caller, pathParameter(call, 'id'));
          return documentAnswer(call, { data: userToJson(user, viewerOf(caller, user.id)) });
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/admin/users',
      summary: 'Lists all users. Only for site administrators',
      conditional: true,
      query: [...PAGE_PARAMETERS, NAME_FILTER],
      answer: pageSchema(userSchema),
      handle: (call) =>
        serveLongRead(service, call, function* (reader, caller) {
          const page = readPageOrDefault(call.query);
          checkSiteAdmin(caller);
          const q = (call.query.get(NAME_FILTER.name) ?? '').toLowerCase();
          const matches = (text: string): boolean => text.toLowerCase().includes(q);
          const matching = yield* filterInSlices(
            yield* allInSlices(reader, users),
            ({ row }) => (matches(row.username) || matches(addressOf(row))) && !isOfAccount(reader, row),
          );
          const data = slicePage(yield* sortByCreationAndId(matching), page).map(({ row }) =>
            userToJson(row, { siteAdmin: true }),
          );
          return yield* longDocumentAnswer(call, pageDocument(call, page, { data, totalCount: matching.length }));
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/admin/users',
      summary: 'Creates a user, or claims an invited one, with a first token that only this answer contains',
      body: newUserSchema,
      answer: documentSchema(userSchema),
      status: 201,
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, { type: 'users' }),
          change(context, { attributes }) {
            checkSiteAdmin(context.caller);
            const wanted = readNewUser(attributes);
            const user = claimUser(context, wanted) ?? createUser(context, wanted);
            const token = createFirstToken(context, user);
            const resource = userToJson(user, { siteAdmin: true });
            const data = { ...resource, attributes: { ...resource.attributes, token } };
            return documentAnswer(call, { data }, 201);
          },
        }),
    },
    {
      method: 'DELETE',
      path: '/api/v2/admin/users/:id',
      summary: 'Deletes a user with their memberships and tokens. Only for site administrators',
      query: [TRANSFER_TO, REVOKE_CREATED],
      headers: [IF_MATCH],
      status: 204,
      handle(call) {
        const revokeCreated = (): boolean => readFlag(call.query, REVOKE_CREATED);
        return serveLargeWrite(service, call, {
          conditional: true,
          parse: () => oneStep(() => pathParameter(call, 'id')),
          isLarge: (reader, caller) =>
            isSiteAdmin(caller) && revokeCreated() && hasCreatedMany(reader, pathParameter(call, 'id')),
          *change(context, id) {
            yield* deleteUser(context, {
              id,
              precondition: ifMatch(call),
              transferTo: call.query.get(TRANSFER_TO.name),
              revokeCreated: revokeCreated(),
            });
            return NO_CONTENT;
          },
        });
      },
    },
    suspension('suspend', 'Suspends a user: the server refuses their tokens until the suspension ends', true),
    suspension('unsuspend', "Ends a user's suspension", false),
  ];
}

/** Whether a user is a pending user of a person who has an account, which the list shows instead [AUTHZ-99]. */
const isOfAccount = (reader: Reader, { invitation }: DeepReadonly<User>): boolean =>
  invitation !== undefined && reader.find(users, 'email', invitation.email.toLowerCase()) !== undefined;

/** Returns the document of `/account/details` [DOC-57]. */
function callerToJson(reader: Reader, caller: Caller): Resource {
  switch (caller.kind) {
    case 'user': {
      const user = reader.get(users, caller.userId);
      if (user === undefined) throw notFound();
      return userToJson(user.row, { self: true, siteAdmin: caller.siteAdmin });
    }
    case 'team': {
      const team = reader.get(teams, caller.teamId);
      if (team === undefined) throw notFound();
      return serviceAccountToJson(caller.teamId, { type: 'teams', name: team.row.name });
    }
    case 'organization': {
      const organization = reader.get(organizations, caller.organizationId);
      if (organization === undefined) throw notFound();
      return serviceAccountToJson(caller.organizationId, { type: 'organizations', name: organization.row.name });
    }
  }
}
