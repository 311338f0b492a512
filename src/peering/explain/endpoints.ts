/** The endpoints that tell why a service is not where it is looked for. */
import { Type } from 'typebox';
import { askedBy } from '../../credentials/request-context.ts';
import { FILTERED } from '../../http/blocking/read-headers.ts';
import { pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { WILDCARD } from '../config-entries/config-entry.ts';
import { checkServiceName } from '../config-entries/edit/check-names.ts';
import { explanationSchema } from './diagnosis.ts';
import { diffPeering, peeringDiffSchema } from './diff-peering.ts';
import { type Explaining, explainService } from './explain-service.ts';

export interface ExplainEndpoints extends Explaining {
  /** `compat = consul`: also takes `X-Consul-Token`. */
  readonly consul: boolean;
}

const SERVICE: Parameter = {
  name: 'service',
  description: 'Required. The name of the service, here and there.',
  schema: Type.String(),
};

/** `GET /v1/peering/:name/explain`, `GET /v1/peering/:name/diff`. */
export function explainEndpoints({ consul, ...explaining }: ExplainEndpoints): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/v1/peering/:name/explain',
      summary: 'Tells where a service stops on its way to a peer, and from it',
      query: [SERVICE],
      answer: explanationSchema,
      async handle(call) {
        const service = readService(call.query);
        const about = { name: pathParameter(call, 'name'), service };
        return jsonAnswer(call, await explainService(explaining, askedBy(call, consul), about));
      },
    },
    {
      method: 'GET',
      path: '/v1/peering/:name/diff',
      summary: 'Compares what came from a peer with what the peer says that it has sent',
      answer: peeringDiffSchema,
      answerHeaders: [FILTERED],
      async handle(call) {
        const { diff, filtered } = await diffPeering(explaining, askedBy(call, consul), pathParameter(call, 'name'));
        return jsonAnswer(call, diff, { headers: filtered ? [FILTERED.name, 'true'] : [] });
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
