/** The endpoints of the catalog, of health and of the local agent ([SVC-1]). */

import { type Credentials, type RequestContext, requestContextOf } from '../../credentials/caller.ts';
import type { BlockingQueries } from '../../http/blocking/blocking-query.ts';
import { FILTERED_HEADER } from '../../http/blocking/read-protocol.ts';
import { type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { FILTER } from '../../http/filter/filter-parameter.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { parseBody } from '../../http/v1/parse-body.ts';
import type { AgentNode } from './agent/agent.ts';
import { agentEndpoints } from './agent/endpoints.ts';
import { deregister } from './api/deregister.ts';
import { listNodes, listServiceInstances, listServices, readNode } from './api/read-catalog.ts';
import { listChecks, readNodeHealth, readServiceHealth } from './api/read-health.ts';
import {
  ANSWERED_BY,
  FAILOVER,
  NODE_META,
  PASSING,
  PEER,
  PEER_OF_WRITE,
  readInstanceFilter,
  readSelection,
  rejectPeerParameter,
  TAG,
} from './api/read-parameters.ts';
import { register } from './api/register.ts';
import { deregistrationSchema, registrationSchema } from './api/request-schemas.ts';
import {
  catalogServiceSchema,
  catalogServicesSchema,
  checkSchema,
  checksSchema,
  doneSchema,
  healthSchema,
  nodeSchema,
  nodeServicesSchema,
  nodesSchema,
  serviceEntrySchema,
  serviceNamesSchema,
  serviceSchema,
} from './api/response-schemas.ts';

export interface CatalogEndpointOptions {
  readonly credentials: Credentials;
  readonly reads: BlockingQueries;
  readonly agent: AgentNode;
  /** `compat = consul`. */
  readonly consul: boolean;
}

export function catalogEndpoints({ credentials, reads, agent, consul }: CatalogEndpointOptions): Endpoint[] {
  const contextOf = (call: Call): RequestContext => requestContextOf(call, consul);
  return [
    {
      method: 'PUT',
      path: '/v1/catalog/register',
      summary: 'Registers a node, a service on it and checks of both',
      query: [PEER_OF_WRITE],
      body: registrationSchema,
      answer: doneSchema,
      async handle(call) {
        rejectPeerParameter(call);
        return jsonAnswer(call, await register(credentials, contextOf(call), parseBody(registrationSchema, call.body)));
      },
    },
    {
      method: 'PUT',
      path: '/v1/catalog/deregister',
      summary: 'Deregisters a node with everything on it, a service, or a check',
      query: [PEER_OF_WRITE],
      body: deregistrationSchema,
      answer: doneSchema,
      async handle(call) {
        rejectPeerParameter(call);
        return jsonAnswer(
          call,
          await deregister(credentials, contextOf(call), parseBody(deregistrationSchema, call.body)),
        );
      },
    },
    {
      method: 'GET',
      path: '/v1/catalog/services',
      summary: 'Lists service names with their tags',
      blocking: true,
      cacheable: true,
      query: [PEER, NODE_META, FILTER],
      answer: serviceNamesSchema,
      answerHeaders: [FILTERED_HEADER],
      handle: (call) =>
        reads.answer(call, listServices(credentials, contextOf(call), readSelection(call, catalogServiceSchema)), {
          cacheable: true,
        }),
    },
    {
      method: 'GET',
      path: '/v1/catalog/service/:name',
      summary: 'Lists the instances of a service, each with its node',
      blocking: true,
      cacheable: true,
      query: [PEER, TAG, NODE_META, FILTER],
      answer: catalogServicesSchema,
      handle: (call) =>
        reads.answer(
          call,
          listServiceInstances(
            credentials,
            contextOf(call),
            readInstanceFilter(call, catalogServiceSchema),
            pathParameter(call, 'name'),
          ),
          {
            cacheable: true,
          },
        ),
    },
    {
      method: 'GET',
      path: '/v1/catalog/nodes',
      summary: 'Lists nodes',
      blocking: true,
      query: [PEER, NODE_META, FILTER],
      answer: nodesSchema,
      answerHeaders: [FILTERED_HEADER],
      handle: (call) => reads.answer(call, listNodes(credentials, contextOf(call), readSelection(call, nodeSchema))),
    },
    {
      method: 'GET',
      path: '/v1/catalog/node/:name',
      summary: 'Reads a node with the services on it',
      blocking: true,
      query: [PEER, FILTER],
      answer: nodeServicesSchema,
      answerHeaders: [FILTERED_HEADER],
      handle: (call) =>
        reads.answer(
          call,
          readNode(credentials, contextOf(call), readSelection(call, serviceSchema), pathParameter(call, 'name')),
        ),
    },
    {
      method: 'GET',
      path: '/v1/health/service/:name',
      summary: 'Lists the instances of a service with their checks',
      blocking: true,
      cacheable: true,
      query: [PASSING, TAG, PEER, FAILOVER, NODE_META, FILTER],
      answer: healthSchema,
      answerHeaders: [ANSWERED_BY],
      handle: (call) =>
        reads.answer(
          call,
          readServiceHealth(
            credentials,
            contextOf(call),
            readInstanceFilter(call, serviceEntrySchema),
            pathParameter(call, 'name'),
          ),
          {
            cacheable: true,
          },
        ),
    },
    {
      method: 'GET',
      path: '/v1/health/node/:name',
      summary: 'Lists the checks of a node and of the services on it',
      blocking: true,
      query: [PEER, FILTER],
      answer: checksSchema,
      answerHeaders: [FILTERED_HEADER],
      handle: (call) =>
        reads.answer(
          call,
          readNodeHealth(credentials, contextOf(call), readSelection(call, checkSchema), pathParameter(call, 'name')),
        ),
    },
    {
      method: 'GET',
      path: '/v1/health/state/:state',
      summary: 'Lists the checks in a state, or all checks',
      blocking: true,
      query: [PEER, NODE_META, FILTER],
      answer: checksSchema,
      answerHeaders: [FILTERED_HEADER],
      handle: (call) =>
        reads.answer(
          call,
          listChecks(credentials, contextOf(call), readSelection(call, checkSchema), pathParameter(call, 'state')),
        ),
    },
    ...agentEndpoints({ credentials, node: agent }, reads, contextOf),
  ];
}
