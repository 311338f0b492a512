/** The endpoints of the local agent. */
import { Type } from 'typebox';
import type { Asked } from '../../../credentials/operation.ts';
import { type Answer, emptyAnswer } from '../../../http/answer.ts';
import { FILTERED } from '../../../http/blocking/read-headers.ts';
import type { Reads } from '../../../http/blocking/reads.ts';
import { type Call, pathParameter } from '../../../http/call.ts';
import type { Endpoint } from '../../../http/endpoint.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { parseBody } from '../../../http/v1/parse-body.ts';
import { agentChecksSchema, agentServicesSchema } from '../api/response-schemas.ts';
import type { CheckStatus } from '../tables/check.ts';
import type { Agent } from './agent.ts';
import { agentServiceSchema } from './bodies.ts';
import { deregisterService } from './deregister-service.ts';
import { readAgentChecks, readAgentServices } from './read-agent.ts';
import { registerService } from './register-service.ts';
import { reportCheck } from './report-check.ts';

const NOTE: Parameter = { name: 'note', description: "What to show as the check's output.", schema: Type.String() };

/** How a service reports, and what that says of its check. */
const REPORTS: readonly (readonly [word: string, status: CheckStatus])[] = [
  ['pass', 'passing'],
  ['warn', 'warning'],
  ['fail', 'critical'],
];

/** `/v1/agent…` */
export function agentEndpoints(agent: Agent, reads: Reads, asked: (call: Call) => Asked): Endpoint[] {
  return [
    {
      method: 'PUT',
      path: '/v1/agent/service/register',
      summary: 'Registers a service with this server: it lives as long as the server does',
      body: agentServiceSchema,
      handle: (call) => done(registerService(agent, asked(call), parseBody(agentServiceSchema, call.body))),
    },
    {
      method: 'PUT',
      path: '/v1/agent/service/deregister/:id',
      summary: 'Takes away a service that was registered with this server',
      handle: (call) => done(deregisterService(agent, asked(call), pathParameter(call, 'id'))),
    },
    ...REPORTS.map(
      ([word, status]): Endpoint => ({
        method: 'PUT',
        path: `/v1/agent/check/${word}/:id`,
        summary: `Reports a check as ${status}, for another time to live`,
        query: [NOTE],
        handle: (call) =>
          done(
            reportCheck(agent, asked(call), pathParameter(call, 'id'), {
              status,
              note: call.query.get(NOTE.name) ?? '',
            }),
          ),
      }),
    ),
    {
      method: 'GET',
      path: '/v1/agent/services',
      summary: 'Reads the services that were registered with this server',
      blocking: true,
      answer: agentServicesSchema,
      answerHeaders: [FILTERED],
      handle: (call) => reads.answer(call, readAgentServices(agent, asked(call))),
    },
    {
      method: 'GET',
      path: '/v1/agent/checks',
      summary: 'Reads the checks of the services that were registered with this server',
      blocking: true,
      answer: agentChecksSchema,
      answerHeaders: [FILTERED],
      handle: (call) => reads.answer(call, readAgentChecks(agent, asked(call))),
    },
  ];
}

const done = async (operation: Promise<void>): Promise<Answer> => {
  await operation;
  return emptyAnswer;
};
