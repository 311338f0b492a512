/** `GET /organization/audit-trail`: who changed what in an organization. Plain JSON, as clients of such trails read it. */
import { Type } from 'typebox';
import { parseTime } from '../../credentials/parse-time.ts';
import type { Answer } from '../../http/answer.ts';
import { callerSignal } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Caller } from '../authorization/caller.ts';
import { organizationNamed } from '../authorization/find-visible.ts';
import { servesTeams } from '../authorization/permissions.ts';
import { serveRead, type TeamAccess } from '../http/request-pipeline.ts';
import { type Fault, notFound } from '../jsonapi/errors.ts';
import { type Page, pageParameters, paginationOf, readPageAlways } from '../jsonapi/pagination.ts';
import { TRAIL_PAGE_SIZE_DEFAULT, TRAIL_PAGE_SIZE_MAX } from '../limits.ts';
import { organizations } from '../tables/organization.ts';
import { showEntry, trailPageSchema } from './entry-to-json.ts';
import { readTrail, type TrailPage } from './read-trail.ts';

const JSON_TYPE = 'application/json';
const SIZES = { fallback: TRAIL_PAGE_SIZE_DEFAULT, maximum: TRAIL_PAGE_SIZE_MAX };

const ORGANIZATION: Parameter = {
  name: 'filter[organization]',
  description: 'The name of the organization; with the token of a user it must be given.',
  schema: Type.String(),
};
const SINCE: Parameter = {
  name: 'since',
  description: 'Only entries from this time on (RFC 3339).',
  schema: Type.String(),
};

/** The one endpoint. */
export function auditTrailEndpoints(service: TeamAccess): Endpoint[] {
  const { state } = service;
  return [
    {
      method: 'GET',
      path: '/api/v2/organization/audit-trail',
      summary: 'Lists who changed what in an organization, oldest first',
      query: [ORGANIZATION, SINCE, ...pageParameters(SIZES)],
      answer: trailPageSchema,
      answerType: JSON_TYPE,
      handle: (call) =>
        serveRead(
          service,
          call,
          async (reader, caller) => {
            const { sinceMs, page } = readTrailQuery(call.query, caller);
            const organizationId = trailOwner(reader, caller, call.query.get(ORGANIZATION.name));
            const trail = await readTrail(state, { organizationId, sinceMs, page }, callerSignal(call));
            return trailAnswer(reader, page, trail);
          },
          JSON_TYPE,
        ),
    },
  ];
}

/** @throws JsonApiError `invalid-attribute` */
function readTrailQuery(query: Query, caller: Caller): { readonly sinceMs: number; readonly page: Page } {
  const faults: Fault[] = [];
  if (caller.kind === 'user' && (query.get(ORGANIZATION.name) ?? '') === '') {
    const parameter = ORGANIZATION.name;
    faults.push({ code: 'invalid-attribute', detail: `${parameter} can't be blank`, parameter });
  }
  const since = query.get(SINCE.name) ?? '';
  const sinceMs = since === '' ? 0 : parseTime(since);
  if (sinceMs === undefined) {
    const detail = 'since must be a time such as 2026-01-31T00:00:00Z';
    faults.push({ code: 'invalid-attribute', detail, parameter: SINCE.name });
  }
  return { page: readPageAlways(query, faults, SIZES), sinceMs: sinceMs ?? 0 };
}

/**
 * Whose trail it is: that of the organization whose token the caller presents, or one that a user owns. Tokens of teams,
 * those of `owners` too, read none. @throws JsonApiError `not-found`
 */
function trailOwner(reader: Reader, caller: Caller, named: string | undefined): string {
  if (caller.kind === 'team') throw notFound();
  const own = caller.kind === 'organization' ? reader.get(organizations, caller.organizationId)?.row.name : undefined;
  const name = named === undefined || named === '' ? own : named;
  const standing = organizationNamed(reader, caller, name ?? '');
  if (!standing.owner || !servesTeams(standing)) throw notFound();
  return standing.organization.id;
}

function trailAnswer(reader: Reader, page: Page, { entries, totalCount }: TrailPage): Answer {
  const pagination = paginationOf(page, totalCount);
  const body = {
    data: entries.map((entry) => showEntry(reader, entry)),
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
