/** The endpoints of the connection check. */
import { requestContextOf } from '../../credentials/caller.ts';
import { disconnectSignal, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { parseBody } from '../../http/v1/parse-body.ts';
import type { CheckEnvironment } from './check-address.ts';
import { checkPeering, type PeeringChecks } from './check-peering.ts';
import { checkToken, tokenCheckSchema } from './check-token.ts';
import { CHECK_MS_MAX } from './limits.ts';
import { checkReportSchema } from './report.ts';
import { createCheckRunner } from './run-check.ts';

export interface CheckEndpoints {
  readonly service: PeeringChecks['service'];
  readonly environment: CheckEnvironment;
  /** The timeout of one check. CHECK_MS_MAX by default. */
  readonly timeMs?: number;
}

export function checkEndpoints({ service, environment, timeMs = CHECK_MS_MAX }: CheckEndpoints): Endpoint[] {
  const checks: PeeringChecks = { service, environment, runner: createCheckRunner(service.clock, timeMs) };
  return [
    {
      method: 'GET',
      path: '/v1/peering/:name/check',
      summary: 'Checks the connection of a peering, and explains each problem',
      answer: checkReportSchema,
      async handle(call) {
        const context = requestContextOf(call, service.consul);
        return jsonAnswer(
          call,
          await checkPeering(checks, context, pathParameter(call, 'name'), disconnectSignal(call)),
        );
      },
    },
    {
      method: 'POST',
      path: '/v1/peering/check',
      summary: 'Checks the connection for a peering token, without using the token',
      body: tokenCheckSchema,
      answer: checkReportSchema,
      async handle(call) {
        const body = parseBody(tokenCheckSchema, call.body);
        return jsonAnswer(
          call,
          await checkToken(checks, requestContextOf(call, service.consul), body, disconnectSignal(call)),
        );
      },
    },
  ];
}
