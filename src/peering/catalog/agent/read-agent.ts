/** `GET /v1/agent/services` and `/v1/agent/checks`: what is registered with this server; can wait. */
import type { Asked } from '../../../credentials/operation.ts';
import { JsonText } from '../../../http/v1/json-answer.ts';
import type { Evaluate } from '../../../http/v1/reads.ts';
import { readVisible } from '../read-catalog.ts';
import { checksById, checksOfService, serviceText } from '../show.ts';
import { nodeSource } from '../sources.ts';
import type { Visible } from '../visible.ts';
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
