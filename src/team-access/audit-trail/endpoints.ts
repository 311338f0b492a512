/** The endpoint of the audit trail. It answers plain JSON, as existing clients of audit trails expect [TEAM-96]. */
import { Type } from 'typebox';
import { parseTime } from '../../credentials/parse-time.ts';
import { type Answer, disconnectSignal, type Query } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Parameter } from '../../http/parameter.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Caller } from '../authorization/caller.ts';
import { organizationByName } from '../authorization/find-visible.ts';
import { hasTeamManagement } from '../authorization/permissions.ts';
import { serveRead, type TeamAccessService } from '../http/request-pipeline.ts';
import { type ErrorObject, notFound } from '../jsonapi/errors.ts';
import { type Page, pageParameters, paginationMeta, readPageOrDefault } from '../jsonapi/pagination.ts';
import { TRAIL_PAGE_SIZE_DEFAULT, TRAIL_PAGE_SIZE_MAX } from '../limits.ts';
import { organizations } from '../tables/organization.ts';
import { entryToJson, trailPageSchema } from './entry-to-json.ts';
import { readTrail, type TrailPage } from './read-trail.ts';

const JSON_TYPE = 'application/json';
const SIZES = { defaultSize: TRAIL_PAGE_SIZE_DEFAULT, maxSize: TRAIL_PAGE_SIZE_MAX };

const ORGANIZATION: Parameter = {
  name: 'filter[organization]',
  description: 'The name of the organization. Required with the token of a user.',
  schema: Type.String(),
};
const SINCE: Parameter = {
  name: 'since',
  description: 'Only entries at or after this time (RFC 3339).',
  schema: Type.String(),
};

export function auditTrailEndpoints(service: TeamAccessService): Endpoint[] {
  const { state } = service;
  return [
    {
      method: 'GET',
      path: '/api/v2/organization/audit-trail',
      summary: 'Lists the audited changes of an organization, oldest first',
      query: [ORGANIZATION, SINCE, ...pageParameters(SIZES)],
      answer: trailPageSchema,
      answerType: JSON_TYPE,
      handle: (call) =>
        serveRead(
          service,
          call,
          async (reader, caller) => {
            const { sinceMs, page } = readTrailQuery(call.query, caller);
            const organizationId = trailOrganization(reader, caller, call.query.get(ORGANIZATION.name));
            const trail = await readTrail(state, { organizationId, sinceMs, page }, disconnectSignal(call));
            return trailAnswer(reader, page, trail);
          },
          JSON_TYPE,
        ),
    },
  ];
}

/** Reads the query and reports all of its errors [TEAM-105, TEAM-106]. @throws JsonApiError `invalid-attribute` */
function readTrailQuery(query: Query, caller: Caller): { readonly sinceMs: number; readonly page: Page } {
  const errors: ErrorObject[] = [];
  if (caller.kind === 'user' && (query.get(ORGANIZATION.name) ?? '') === '') {
    const parameter = ORGANIZATION.name;
    errors.push({ code: 'invalid-attribute', detail: `${parameter} can't be blank`, parameter });
  }
  const since = query.get(SINCE.name) ?? '';
  const sinceMs = since === '' ? 0 : parseTime(since);
  if (sinceMs === undefined) {
    const detail = 'since must be a time such as 2026-01-31T00:00:00Z';
    errors.push({ code: 'invalid-attribute', detail, parameter: SINCE.name });
  }
  return { page: readPageOrDefault(query, errors, SIZES), sinceMs: sinceMs ?? 0 };
}

/**
 * Returns the ID of the organization whose trail the caller may read [TEAM-97]. An organization's token may read the
 * trail of its organization, and a user may read the trail of an organization that the user owns.
 * @throws JsonApiError `not-found` for other callers, including every team token
 */
function trailOrganization(reader: Reader, caller: Caller, named: string | undefined): string {
  if (caller.kind === 'team') throw notFound();
  const own = caller.kind === 'organization' ? reader.get(organizations, caller.organizationId)?.row.name : undefined;
  const name = named === undefined || named === '' ? own : named;
  const role = organizationByName(reader, caller, name ?? '');
  if (!role.owner || !hasTeamManagement(role)) throw notFound();
  return role.organization.id;
}

function trailAnswer(reader: Reader, page: Page, { entries, totalCount }: TrailPage): Answer {
  const pagination = paginationMeta(page, totalCount);
  const body = {
    data: entries.map((entry) => entryToJson(reader, entry)),
    pagination: {
      current_page: pagination['current-page'],
      prev_page: pagination['prev-page'],
      next_page: pagination['next-page'],
      total_pages: pagination['total-pages'],
      total_count: pagination['total-count'],
    },
  };
  return { status: 200, contentType: JSON_TYPE, body: JSON.stringify(body), headers: ['Cache-Control', 'no-store'] };
}
