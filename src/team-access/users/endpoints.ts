/** `/account/details`, `/users/:id`, and `/admin/users` for site administrators. */
import { users } from '../../credentials/user.ts';
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Caller } from '../authorization/caller.ts';
import { showServiceAccount, showUser, userSchema } from '../documents/user-to-json.ts';
import { serveRead, serveRemoval, serveWrite, type TeamAccess } from '../http/request-pipeline.ts';
import { documentAnswer, IF_MATCH, ifMatch, type Resource } from '../jsonapi/documents.ts';
import { notFound } from '../jsonapi/errors.ts';
import { onPage, PAGE_PARAMETERS, pageDocument, readPageAlways } from '../jsonapi/pagination.ts';
import { readResource } from '../jsonapi/read-resource.ts';
import { documentOf, pageOf } from '../jsonapi/schemas.ts';
import { Q } from '../organizations/endpoints.ts';
import { organizations } from '../tables/organization.ts';
import { teams } from '../tables/team.ts';
import { deleteUser } from './delete-user.ts';
import { checkSiteAdmin, isSelf, userById } from './find-user.ts';
import { claimUser, createFirstToken, createUser } from './new-user.ts';
import { newUserSchema, readNewUser } from './read-user-body.ts';

export function userEndpoints(service: TeamAccess): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/api/v2/account/details',
      summary: 'Tells whose token the caller presents',
      conditional: true,
      answer: documentOf(userSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => documentAnswer(call, { data: showCaller(reader, caller) })),
    },
    {
      method: 'GET',
      path: '/api/v2/users/:id',
      summary: 'Reads a user',
      conditional: true,
      answer: documentOf(userSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const user = userById(reader, caller, pathParameter(call, 'id'));
          return documentAnswer(call, { data: showUser(user, isSelf(caller, user.id)) });
        }),
    },
    {
      method: 'GET',
      path: '/api/v2/admin/users',
      summary: 'Lists all users; for site administrators',
      conditional: true,
      query: [...PAGE_PARAMETERS, Q],
      answer: pageOf(userSchema),
      handle: (call) =>
        serveRead(service, call, (reader, caller) => {
          const page = readPageAlways(call.query);
          checkSiteAdmin(caller);
          const q = (call.query.get(Q.name) ?? '').toLowerCase();
          const all = reader
            .all(users)
            .filter(({ row }) => row.username.toLowerCase().includes(q) || row.email.toLowerCase().includes(q))
            .toSorted((a, b) => a.createIndex - b.createIndex || (a.row.id < b.row.id ? -1 : 1));
          const data = onPage(all, page).map(({ row }) => showUser(row));
          return documentAnswer(call, pageDocument(call, page, { data, totalCount: all.length }));
        }),
    },
    {
      method: 'POST',
      path: '/api/v2/admin/users',
      summary: 'Makes a user, or takes on one who was invited, with a first token, which is shown once',
      body: newUserSchema,
      answer: documentOf(userSchema),
      status: 201,
      handle: (call) =>
        serveWrite(service, call, {
          parse: () => readResource(call.body, { type: 'users' }),
          change(writing, { attributes }) {
            checkSiteAdmin(writing.caller);
            const wanted = readNewUser(attributes);
            const user = claimUser(writing, wanted) ?? createUser(writing, wanted);
            const token = createFirstToken(writing, user);
            const resource = showUser(user);
            const data = { ...resource, attributes: { ...resource.attributes, token } };
            return documentAnswer(call, { data }, 201);
          },
        }),
    },
    {
      method: 'DELETE',
      path: '/api/v2/admin/users/:id',
      summary: 'Deletes a user with their memberships and tokens; for site administrators',
      headers: [IF_MATCH],
      status: 204,
      handle: (call) =>
        serveRemoval(service, call, (writing) =>
          deleteUser(writing, { id: pathParameter(call, 'id'), precondition: ifMatch(call) }),
        ),
    },
  ];
}

/** Who presents a token: a user, or what acts for a team or an organization. */
function showCaller(reader: Reader, caller: Caller): Resource {
  switch (caller.kind) {
    case 'user': {
      const user = reader.get(users, caller.userId);
      if (user === undefined) throw notFound();
      return showUser(user.row, true);
    }
    case 'team': {
      const team = reader.get(teams, caller.teamId);
      if (team === undefined) throw notFound();
      return showServiceAccount(caller.teamId, { type: 'teams', name: team.row.name });
    }
    case 'organization': {
      const organization = reader.get(organizations, caller.organizationId);
      if (organization === undefined) throw notFound();
      return showServiceAccount(caller.organizationId, { type: 'organizations', name: organization.row.name });
    }
  }
}
