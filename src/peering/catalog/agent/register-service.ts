/** `PUT /v1/agent/service/register`: puts a service on this server's node, with the checks that it will report for. */
import { authorize } from '../../../credentials/caller.ts';
import { permits } from '../../../credentials/grant.ts';
import { type Asked, writeFor } from '../../../credentials/operation.ts';
import type { ServiceError } from '../../../http/errors.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { putService } from '../change-catalog.ts';
import { refused } from '../read-fields.ts';
import { catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import type { KeptCheck } from '../tables/check.ts';
import { dueAfter, isCriticalAlready, withDue } from '../tables/check-deadline.ts';
import { type TtlCheck, ttlCheckKey, ttlChecks } from '../tables/ttl-check.ts';
import { type Agent, type AtAgent, findAgent, putAgentNode } from './agent.ts';
import type { AgentServiceBody } from './bodies.ts';
import { type GivenTtlCheck, readAgentService } from './read-agent-service.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function registerService(agent: Agent, asked: Asked, body: AgentServiceBody): Promise<void> {
  const { service, checks } = readAgentService(body);
  const named: Asked = { ...asked, partitions: { ...asked.partitions, body: body.Partition } };
  await writeFor(agent.credentials, asked, (tx) => {
    const at = findAgent(agent, tx, named, 'write');
    const { caller, partition } = at;
    authorize(caller, { resource: 'services', access: 'write', partition, name: service.name });
    if (service.address === '' && !agent.node.isServiceAddress) throw noAddress();
    const node = putAgentNode(tx, agent.node, at);
    const standing = tx.get(catalogServices, catalogServiceKey(node, service.id))?.row;
    if (standing !== undefined && standing.service.name !== service.name) {
      authorize(caller, { resource: 'services', access: 'write', partition, name: standing.service.name });
    }
    const kept = checks.map((check) => keptCheck(standing?.checks ?? [], check));
    putService(tx, { node, partition }, service, kept);
    checks.forEach((check, i) => {
      refuseTaken(tx, { node, serviceId: service.id, checkId: check.id }, at);
      putTimes(tx, { node, serviceId: service.id }, check, (kept[i] as KeptCheck).status);
    });
  });
}

/** Where nobody can tell for sure where a service is reached, a wrong address would be found, exported and called. */
const noAddress = (): ServiceError =>
  refused(
    'Invalid service address "": this server listens on every address of its machine (http.address), so it cannot tell where its services are reached; give the Address of the service',
  );

/** Whose it is, is said to who may know. @throws ServiceError `bad-request` */
function refuseTaken(
  tx: Transaction,
  { node, serviceId, checkId }: Pick<TtlCheck, 'node' | 'serviceId' | 'checkId'>,
  { caller, partition }: Pick<AtAgent, 'caller' | 'partition'>,
): void {
  const owner = tx.get(ttlChecks, ttlCheckKey(node, checkId))?.row.serviceId ?? serviceId;
  if (owner === serviceId) return;
  const name = tx.get(catalogServices, catalogServiceKey(node, owner))?.row.service.name ?? '';
  const isVisible = permits(caller.grants, { resource: 'services', access: 'read', partition, name });
  const whose = isVisible ? `service "${owner}"` : 'another service';
  throw refused(`Invalid check: CheckID "${checkId}" is that of ${whose} on this server`);
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
  const isSame = standing?.ttlMs === ttlMs && standing.deregisterAfterMs === deregisterAfterMs;
  if (isSame && (given === undefined || isCriticalAlready(standing, status))) return;
  const times = { ttlMs, ...(deregisterAfterMs !== undefined && { deregisterAfterMs }) };
  tx.put(ttlChecks, withDue({ node, checkId, serviceId, ...times }, dueAfter(times, status, tx.now)));
}
