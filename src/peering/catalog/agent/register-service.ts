/** `PUT /v1/agent/service/register`: puts a service on this server's node, with the checks that it will report for. */
import { authorize } from '../../../credentials/caller.ts';
import type { Asked } from '../../../credentials/operation.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/transaction.ts';
import { catalogServiceKey, catalogServices } from '../catalog-service.ts';
import { putService } from '../change-catalog.ts';
import type { KeptCheck } from '../check.ts';
import { refused } from '../read-fields.ts';
import { type TtlCheck, ttlCheckKey, ttlChecks } from '../ttl-check.ts';
import { type Agent, findAgent, putAgentNode } from './agent.ts';
import type { AgentServiceBody } from './bodies.ts';
import { dueAfter, isCriticalAlready, withDue } from './due.ts';
import { type GivenTtlCheck, readAgentService } from './read-agent-service.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function registerService(agent: Agent, asked: Asked, body: AgentServiceBody): Promise<void> {
  const { service, checks } = readAgentService(body);
  const named: Asked = { ...asked, partitions: { ...asked.partitions, body: body.Partition } };
  await agent.credentials.state.write((tx) => {
    const at = findAgent(agent, tx, named, 'write');
    const { caller, partition } = at;
    authorize(caller, { resource: 'services', access: 'write', partition, name: service.name });
    const node = putAgentNode(tx, agent.node, at);
    const standing = tx.get(catalogServices, catalogServiceKey(node, service.id))?.row;
    if (standing !== undefined && standing.service.name !== service.name) {
      authorize(caller, { resource: 'services', access: 'write', partition, name: standing.service.name });
    }
    const kept = checks.map((check) => keptCheck(standing?.checks ?? [], check));
    putService(tx, { node, partition }, service, kept);
    checks.forEach((check, i) => {
      putTimes(tx, { node, serviceId: service.id }, check, (kept[i] as KeptCheck).status);
    });
  });
}

/** A service that registers again has not become worse by that: its check stays as it is, unless it says how it is. */
function keptCheck(standing: readonly DeepReadonly<KeptCheck>[], given: GivenTtlCheck): KeptCheck {
  const { id, name, notes, type } = given;
  const before = standing.find((check) => check.id === id);
  const status = given.status ?? before?.status ?? 'critical';
  return { id, name, status, notes, output: before?.status === status ? before.output : '', type };
}

function putTimes(
  tx: Transaction,
  { node, serviceId }: Pick<TtlCheck, 'node' | 'serviceId'>,
  { id: checkId, ttlMs, deregisterAfterMs, status: given }: GivenTtlCheck,
  status: KeptCheck['status'],
): void {
  const standing = tx.get(ttlChecks, ttlCheckKey(node, checkId))?.row;
  if (standing !== undefined && standing.serviceId !== serviceId) {
    throw refused(`Invalid check: CheckID "${checkId}" is that of service "${standing.serviceId}" on this server`);
  }
  const isSame = standing?.ttlMs === ttlMs && standing.deregisterAfterMs === deregisterAfterMs;
  if (isSame && (given === undefined || isCriticalAlready(standing, status))) return;
  const times = { ttlMs, ...(deregisterAfterMs !== undefined && { deregisterAfterMs }) };
  tx.put(ttlChecks, withDue({ node, checkId, serviceId, ...times }, dueAfter(times, status, tx.now)));
}
