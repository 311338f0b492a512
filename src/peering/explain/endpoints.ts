/** The endpoints that diagnose missing services. */
import { Type } from 'typebox';
import { requestContextOf } from '../../credentials/caller.ts';
import { FILTERED_HEADER } from '../../http/blocking/read-protocol.ts';
import { pathParameter, type Query } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Parameter } from '../../http/parameter.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { WILDCARD } from '../config-entries/config-entry.ts';
import { checkServiceName } from '../config-entries/edit/check-names.ts';
import { explanationSchema } from './diagnosis.ts';
import { diffPeering, peeringDiffSchema } from './diff-peering.ts';
import { type ExplainDependencies, explainService } from './explain-service.ts';

export interface ExplainEndpoints extends ExplainDependencies {
  readonly consul: boolean;
}

const SERVICE: Parameter = {
  name: 'service',
  description: 'Required. The name of the service.',
  schema: Type.String(),
};

export function explainEndpoints({ consul, ...dependencies }: ExplainEndpoints): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/v1/peering/:name/explain',
      summary: 'Diagnoses why a service does not reach a peer, or does not arrive from it',
      query: [SERVICE],
      answer: explanationSchema,
      async handle(call) {
        const service = readService(call.query);
        const about = { name: pathParameter(call, 'name'), service };
        return jsonAnswer(call, await explainService(dependencies, requestContextOf(call, consul), about));
      },
    },
    {
      method: 'GET',
      path: '/v1/peering/:name/diff',
      summary: 'Compares the services imported from a peer with those it reports to have sent',
      answer: peeringDiffSchema,
      answerHeaders: [FILTERED_HEADER],
      async handle(call) {
        const { diff, filtered } = await diffPeering(
          dependencies,
          requestContextOf(call, consul),
          pathParameter(call, 'name'),
        );
        return jsonAnswer(call, diff, { headers: filtered ? [FILTERED_HEADER.name, 'true'] : [] });
      },
    },
  ];
}

/** @throws ServiceError `bad-request` */
function readService(query: Query): string {
  const service = query.get(SERVICE.name) ?? '';
  if (service === '') throw new ServiceError('bad-request', `required query parameter '${SERVICE.name}' not set`);
  if (service === WILDCARD) throw new ServiceError('bad-request', `${SERVICE.name}: want the name of one service`);
  checkServiceName(SERVICE.name, service);
  return service;
}
