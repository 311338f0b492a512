/** The endpoints of the catalog, of health and of the local agent; what they do is in the operations. */

import type { Asked, Credentials } from '../../credentials/operation.ts';
import { askedBy } from '../../credentials/request-context.ts';
import { FILTERED } from '../../http/blocking/read-headers.ts';
import type { Reads } from '../../http/blocking/reads.ts';
import { type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { parseBody } from '../../http/v1/parse-body.ts';
import type { AgentNode } from './agent/agent.ts';
import { agentEndpoints } from './agent/endpoints.ts';
import { deregistrationSchema, registrationSchema } from './api/bodies.ts';
import { deregister } from './api/deregister.ts';
import { listNodes, listServices, readNode, readService } from './api/read-catalog.ts';
import { listChecks, readNodeHealth, readServiceHealth } from './api/read-health.ts';
import { ANSWERED_BY, FAILOVER, PASSING, PEER, readPeer, readWanted, refusePeer, TAG } from './api/read-parameters.ts';
import { register } from './api/register.ts';
import {
  catalogServicesSchema,
  checksSchema,
  doneSchema,
  healthSchema,
  nodeServicesSchema,
  nodesSchema,
  serviceNamesSchema,
} from './api/response-schemas.ts';

/** What the endpoints stand on. */
export interface CatalogParts {
  readonly credentials: Credentials;
  readonly reads: Reads;
  /** This server as the node of its local agent. */
  readonly agent: AgentNode;
  /** `compat = consul`. */
  readonly consul: boolean;
}

/** `/v1/catalog…`, `/v1/health…` and `/v1/agent…`. */
export function catalogEndpoints({ credentials, reads, agent, consul }: CatalogParts): Endpoint[] {
  const asked = (call: Call): Asked => askedBy(call, consul);
  return [
    {
      method: 'PUT',
      path: '/v1/catalog/register',
      summary: 'Registers a node, a service on it and checks of both',
      body: registrationSchema,
      answer: doneSchema,
      async handle(call) {
        refusePeer(call);
        return jsonAnswer(call, await register(credentials, asked(call), parseBody(registrationSchema, call.body)));
      },
    },
    {
      method: 'PUT',
      path: '/v1/catalog/deregister',
      summary: 'Takes away a node with everything on it, a service, or a check',
      body: deregistrationSchema,
      answer: doneSchema,
      async handle(call) {
        refusePeer(call);
        return jsonAnswer(call, await deregister(credentials, asked(call), parseBody(deregistrationSchema, call.body)));
      },
    },
    {
      method: 'GET',
      path: '/v1/catalog/services',
      summary: 'Lists the names of services with their tags',
      blocking: true,
      cacheable: true,
      query: [PEER],
      answer: serviceNamesSchema,
      answerHeaders: [FILTERED],
      handle: (call) => reads.answer(call, listServices(credentials, asked(call), readPeer(call)), { cacheable: true }),
    },
    {
      method: 'GET',
      path: '/v1/catalog/service/:name',
      summary: 'Lists the instances of a service, each with its node',
      blocking: true,
      cacheable: true,
      query: [PEER, TAG],
      answer: catalogServicesSchema,
      handle: (call) =>
        reads.answer(call, readService(credentials, asked(call), readWanted(call), pathParameter(call, 'name')), {
          cacheable: true,
        }),
    },
    {
      method: 'GET',
      path: '/v1/catalog/nodes',
      summary: 'Lists nodes',
      blocking: true,
      query: [PEER],
      answer: nodesSchema,
      answerHeaders: [FILTERED],
      handle: (call) => reads.answer(call, listNodes(credentials, asked(call), readPeer(call))),
    },
    {
      method: 'GET',
      path: '/v1/catalog/node/:name',
      summary: 'Reads a node with the services on it',
      blocking: true,
      query: [PEER],
      answer: nodeServicesSchema,
      answerHeaders: [FILTERED],
      handle: (call) =>
        reads.answer(call, readNode(credentials, asked(call), readPeer(call), pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/v1/health/service/:name',
      summary: 'Lists the instances of a service with their checks',
      blocking: true,
      cacheable: true,
      query: [PASSING, TAG, PEER, FAILOVER],
      answer: healthSchema,
      answerHeaders: [ANSWERED_BY],
      handle: (call) =>
        reads.answer(call, readServiceHealth(credentials, asked(call), readWanted(call), pathParameter(call, 'name')), {
          cacheable: true,
        }),
    },
    {
      method: 'GET',
      path: '/v1/health/node/:name',
      summary: 'Lists the checks of a node and of the services on it',
      blocking: true,
      query: [PEER],
      answer: checksSchema,
      answerHeaders: [FILTERED],
      handle: (call) =>
        reads.answer(call, readNodeHealth(credentials, asked(call), readPeer(call), pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/v1/health/state/:state',
      summary: 'Lists the checks that are in a state, or in any',
      blocking: true,
      query: [PEER],
      answer: checksSchema,
      answerHeaders: [FILTERED],
      handle: (call) =>
        reads.answer(call, listChecks(credentials, asked(call), readPeer(call), pathParameter(call, 'state'))),
    },
    ...agentEndpoints({ credentials, node: agent }, reads, asked),
  ];
}
