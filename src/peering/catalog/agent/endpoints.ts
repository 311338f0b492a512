/** The endpoints of the local agent, and the operations that are too short for a file. */
import { Type } from 'typebox';
import { authorize, type RequestContext, writeForRequest } from '../../../credentials/caller.ts';
import type { BlockingQueries, Evaluate } from '../../../http/blocking/blocking-query.ts';
import { FILTERED_HEADER } from '../../../http/blocking/read-protocol.ts';
import { type Answer, type Call, emptyAnswer, pathParameter } from '../../../http/call.ts';
import type { Endpoint } from '../../../http/endpoint.ts';
import type { Filter } from '../../../http/filter/compile-filter.ts';
import { FILTER, filterItems, readFilter } from '../../../http/filter/filter-parameter.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { type JsonText, jsonObject } from '../../../http/v1/json-answer.ts';
import { parseBody } from '../../../http/v1/parse-body.ts';
import { type Steps, visitInSlices } from '../../../state/clock/slices.ts';
import { readVisible, servicesById } from '../api/read-catalog.ts';
import { readFlag } from '../api/read-parameters.ts';
import { agentChecksSchema, agentServicesSchema, checkSchema, serviceSchema } from '../api/response-schemas.ts';
import { deleteService } from '../change-catalog.ts';
import { queryNode } from '../query/catalog-queries.ts';
import {
  checkJsonText,
  checksOfService,
  type ResolvedCheck,
  resolvedCheckToJson,
  serviceToJson,
} from '../query/catalog-to-json.ts';
import { missingOrDenied, type VisibleContent } from '../query/visibility.ts';
import { catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import type { CheckStatus } from '../tables/check.ts';
import { type Agent, resolveAgentTarget, unknownService } from './agent.ts';
import { registerService } from './register-service.ts';
import { reportCheck } from './report-check.ts';
import { agentServiceSchema } from './request-schemas.ts';

const NOTE: Parameter = { name: 'note', description: 'The output of the check.', schema: Type.String() };

const REPLACE_EXISTING_CHECKS: Parameter = {
  name: 'replace-existing-checks',
  description: 'Removes the checks of the service that the body omits. replace-existing-checks=false counts as absent.',
  schema: Type.String(),
  flag: true,
};

/** The words in the path of a report and the status that they set ([SVC-51]). */
const REPORTS: readonly (readonly [word: string, status: CheckStatus])[] = [
  ['pass', 'passing'],
  ['warn', 'warning'],
  ['fail', 'critical'],
];

export function agentEndpoints(
  agent: Agent,
  reads: BlockingQueries,
  contextOf: (call: Call) => RequestContext,
): Endpoint[] {
  return [
    {
      method: 'PUT',
      path: '/v1/agent/service/register',
      summary: 'Registers a service with this server; its checks are critical while the server is lost',
      query: [REPLACE_EXISTING_CHECKS],
      body: agentServiceSchema,
      handle: (call) =>
        done(
          registerService(agent, contextOf(call), {
            body: parseBody(agentServiceSchema, call.body),
            replacesChecks: readFlag(call.query, REPLACE_EXISTING_CHECKS),
          }),
        ),
    },
    {
      method: 'PUT',
      path: '/v1/agent/service/deregister/:id',
      summary: 'Deregisters a service of this server',
      handle: (call) => done(deregisterService(agent, contextOf(call), pathParameter(call, 'id'))),
    },
    ...REPORTS.map(
      ([word, status]): Endpoint => ({
        method: 'PUT',
        path: `/v1/agent/check/${word}/:id`,
        summary: `Reports a check as ${status} and renews its TTL`,
        query: [NOTE],
        handle: (call) =>
          done(
            reportCheck(agent, contextOf(call), pathParameter(call, 'id'), {
              status,
              note: call.query.get(NOTE.name) ?? '',
            }),
          ),
      }),
    ),
    {
      method: 'GET',
      path: '/v1/agent/services',
      summary: 'Reads the services registered with this server',
      blocking: true,
      query: [FILTER],
      answer: agentServicesSchema,
      answerHeaders: [FILTERED_HEADER],
      handle: (call) =>
        reads.answer(call, readAgentServices(agent, contextOf(call), readFilter(call.query, serviceSchema))),
    },
    {
      method: 'GET',
      path: '/v1/agent/checks',
      summary: 'Reads the checks of the services registered with this server',
      blocking: true,
      query: [FILTER],
      answer: agentChecksSchema,
      answerHeaders: [FILTERED_HEADER],
      handle: (call) =>
        reads.answer(call, readAgentChecks(agent, contextOf(call), readFilter(call.query, checkSchema))),
    },
  ];
}

const done = async (operation: Promise<void>): Promise<Answer> => {
  await operation;
  return emptyAnswer;
};

/**
 * `PUT /v1/agent/service/deregister/:id`.
 * @throws ServiceError `bad-request` | `permission-denied` | `not-found`, StateError
 */
async function deregisterService(agent: Agent, context: RequestContext, id: string): Promise<void> {
  await writeForRequest(agent.credentials, context, (tx) => {
    const { caller, partition, stored: node } = resolveAgentTarget(agent, tx, context, 'write');
    const stored = node && tx.get(catalogServices, catalogServiceKey(node.row.uid, id));
    if (stored === undefined) throw missingOrDenied(caller, partition, unknownService(id));
    authorize(caller, { resource: 'services', access: 'write', partition, name: stored.row.service.name });
    deleteService(tx, stored);
  });
}

/** `GET /v1/agent/services`: the services by ID. */
const readAgentServices = (agent: Agent, context: RequestContext, filter: Filter | undefined): Evaluate =>
  readAgent(agent, context, filter, function* ({ instances }) {
    return yield* servicesById(yield* filterItems(instances, filter, serviceToJson));
  });

/** `GET /v1/agent/checks`: the checks of the services by ID. */
const readAgentChecks = (agent: Agent, context: RequestContext, filter: Filter | undefined): Evaluate =>
  readAgent(agent, context, filter, function* ({ instances }) {
    const checks: ResolvedCheck[] = [];
    yield* visitInSlices(instances, (instance) => void checks.push(...checksOfService(instance)));
    const selected = yield* filterItems(checks, filter, resolvedCheckToJson);
    // Checks of several services can have one ID. The last one counts.
    const byId = new Map<string, ResolvedCheck>();
    yield* visitInSlices(selected, (resolved) => void byId.set(resolved.check.id, resolved));
    return yield* jsonObject(byId, ([id, resolved]) => [id, checkJsonText(resolved)]);
  });

function readAgent(
  { credentials, node }: Agent,
  context: RequestContext,
  filter: Filter | undefined,
  body: (visible: VisibleContent) => Steps<JsonText>,
): Evaluate {
  return readVisible(credentials, context, undefined, {
    source: (snapshot, query) => queryNode(credentials.state, snapshot, query, node.name),
    key: filter?.text ?? '',
    body,
  });
}
