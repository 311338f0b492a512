/** The endpoints of the connection check. */
import { askedBy } from '../../credentials/request-context.ts';
import { callerSignal, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { parseBody } from '../../http/v1/parse-body.ts';
import type { Surroundings } from './check-address.ts';
import { checkPeering, type PeeringChecks } from './check-peering.ts';
import { checkToken, tokenCheckSchema } from './check-token.ts';
import { CHECK_MS_MAX } from './limits.ts';
import { checkReportSchema } from './report.ts';
import { createCheckRunner } from './run-check.ts';

export interface CheckEndpoints {
  readonly service: PeeringChecks['service'];
  readonly around: Surroundings;
  /** How long one check may take; CHECK_MS_MAX unless a test is in a hurry. */
  readonly timeMs?: number;
}

/** `GET /v1/peering/:name/check`, `POST /v1/peering/check`. */
export function checkEndpoints({ service, around, timeMs = CHECK_MS_MAX }: CheckEndpoints): Endpoint[] {
  const checks: PeeringChecks = { service, around, runner: createCheckRunner(service.clock, timeMs) };
  return [
    {
      method: 'GET',
      path: '/v1/peering/:name/check',
      summary: 'Tries what a peering needs to connect, and says what is wrong',
      answer: checkReportSchema,
      async handle(call) {
        const asked = askedBy(call, service.consul);
        return jsonAnswer(call, await checkPeering(checks, asked, pathParameter(call, 'name'), callerSignal(call)));
      },
    },
    {
      method: 'POST',
      path: '/v1/peering/check',
      summary: 'Tries what a peering token needs to connect; the token is not used up',
      body: tokenCheckSchema,
      answer: checkReportSchema,
      async handle(call) {
        const body = parseBody(tokenCheckSchema, call.body);
        return jsonAnswer(call, await checkToken(checks, askedBy(call, service.consul), body, callerSignal(call)));
      },
    },
  ];
}
