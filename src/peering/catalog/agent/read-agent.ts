/** `GET /v1/agent/services` and `/v1/agent/checks`: what is registered with this server; can wait. */
import type { Asked } from '../../../credentials/operation.ts';
import type { Evaluate } from '../../../http/blocking/reads.ts';
import { JsonText } from '../../../http/v1/json-answer.ts';
import { readVisible } from '../api/read-catalog.ts';
import { nodeSource } from '../query/catalog-queries.ts';
import { checksById, checksOfService, serviceText } from '../query/catalog-to-json.ts';
import type { Visible } from '../query/visibility.ts';
import type { Agent } from './agent.ts';

/** The services by their ID. */
export const readAgentServices = (agent: Agent, asked: Asked): Evaluate =>
  readAgent(agent, asked, ({ instances }) => {
    const services = instances.map((found) => `${JSON.stringify(found.instance.service.id)}:${serviceText(found)}`);
    return new JsonText(`{${services.join(',')}}`);
  });

/** The checks of the services by their ID. */
export const readAgentChecks = (agent: Agent, asked: Asked): Evaluate =>
  readAgent(agent, asked, ({ instances }) => checksById(instances.flatMap(checksOfService)));

function readAgent({ credentials, node }: Agent, asked: Asked, body: (visible: Visible) => unknown): Evaluate {
  return readVisible(credentials, asked, undefined, {
    source: (snapshot, sought) => nodeSource(credentials.state, snapshot, sought, node.name),
    key: '',
    body,
  });
}
