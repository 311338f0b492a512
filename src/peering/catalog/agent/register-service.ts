/** `PUT /v1/agent/service/register`: registers a service with its TTL checks on this server's node ([SVC-47]). */

import { permits } from '../../../credentials/acl-token.ts';
import { authorize, type RequestContext, writeForRequest } from '../../../credentials/caller.ts';
import type { ServiceError } from '../../../http/errors.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { deleteTtlCheck, putService } from '../change-catalog.ts';
import { badRequest } from '../read-fields.ts';
import { type CatalogService, catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import type { CatalogCheck } from '../tables/check.ts';
import { isCriticalAlready, nextDeadline, withDeadline } from '../tables/check-deadline.ts';
import { type TtlCheck, ttlCheckKey, ttlChecks } from '../tables/ttl-check.ts';
import { type Agent, type AgentTarget, putAgentNode, resolveAgentTarget } from './agent.ts';
import { readAgentService, type TtlCheckFields } from './read-agent-service.ts';
import type { AgentServiceBody } from './request-schemas.ts';

export interface Registration {
  readonly body: AgentServiceBody;
  /** Whether to remove the checks of the service that the body omits ([SVC-116]). */
  readonly replacesChecks: boolean;
}

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function registerService(
  agent: Agent,
  context: RequestContext,
  { body, replacesChecks }: Registration,
): Promise<void> {
  const { service, checks } = readAgentService(body);
  const scopedContext: RequestContext = { ...context, partitions: { ...context.partitions, body: body.Partition } };
  await writeForRequest(agent.credentials, context, (tx) => {
    const target = resolveAgentTarget(agent, tx, scopedContext, 'write');
    const { caller, partition } = target;
    authorize(caller, { resource: 'services', access: 'write', partition, name: service.name });
    if (service.address === '' && !agent.node.isServiceAddress) throw missingAddress();
    const node = putAgentNode(tx, agent.node, target);
    const existing = tx.get(catalogServices, catalogServiceKey(node, service.id))?.row;
    if (existing !== undefined && existing.service.name !== service.name) {
      authorize(caller, { resource: 'services', access: 'write', partition, name: existing.service.name });
    }
    const merged = checks.map((check) => mergeCheck(existing?.checks ?? [], check));
    if (replacesChecks && existing !== undefined) removeOtherChecks(tx, existing, new Set(merged.map(({ id }) => id)));
    putService(tx, { node, partition }, service, merged);
    checks.forEach((check, i) => {
      rejectTakenCheckId(tx, { node, serviceId: service.id, checkId: check.id }, target);
      putTtlCheck(tx, { node, serviceId: service.id }, check, (merged[i] as CatalogCheck).status);
    });
  });
}

/** Returns the error for a service whose address is unknown. A guess could be exported to peers ([SVC-45]). */
const missingAddress = (): ServiceError =>
  badRequest(
    'Invalid service address "": this server listens on every address of its machine (http.address), so it cannot tell where its services are reached; give the Address of the service',
  );

/** Rejects a check ID of another service ([SVC-49]), named only to its readers. @throws ServiceError `bad-request` */
function rejectTakenCheckId(
  tx: Transaction,
  { node, serviceId, checkId }: Pick<TtlCheck, 'node' | 'serviceId' | 'checkId'>,
  { caller, partition }: Pick<AgentTarget, 'caller' | 'partition'>,
): void {
  const owner = tx.get(ttlChecks, ttlCheckKey(node, checkId))?.row.serviceId ?? serviceId;
  if (owner === serviceId) return;
  const name = tx.get(catalogServices, catalogServiceKey(node, owner))?.row.service.name ?? '';
  const isVisible = permits(caller.grants, { resource: 'services', access: 'read', partition, name });
  const whose = isVisible ? `service "${owner}"` : 'another service';
  throw badRequest(`Invalid check: CheckID "${checkId}" belongs to ${whose} on this server`);
}

/** Removes the checks of a service whose IDs are not in `kept`. */
function removeOtherChecks(tx: Transaction, service: DeepReadonly<CatalogService>, kept: ReadonlySet<string>): void {
  const removed = service.checks.filter(({ id }) => !kept.has(id));
  if (removed.length === 0) return;
  for (const { id } of removed) deleteTtlCheck(tx, service, id);
  tx.put(catalogServices, { ...service, checks: service.checks.filter(({ id }) => kept.has(id)) });
}

/** Returns the stored form of a check. A repeated registration without `Status` keeps the status ([SVC-50]). */
function mergeCheck(existing: readonly DeepReadonly<CatalogCheck>[], given: TtlCheckFields): CatalogCheck {
  const { id, name, notes, type } = given;
  const before = existing.find((check) => check.id === id);
  const status = given.status ?? before?.status ?? 'critical';
  return { id, name, status, notes, output: before?.status === status ? before.output : '', type };
}

function putTtlCheck(
  tx: Transaction,
  { node, serviceId }: Pick<TtlCheck, 'node' | 'serviceId'>,
  { id: checkId, ttlMs, deregisterAfterMs, status: given }: TtlCheckFields,
  status: CatalogCheck['status'],
): void {
  const existing = tx.get(ttlChecks, ttlCheckKey(node, checkId))?.row;
  const isSame = existing?.ttlMs === ttlMs && existing.deregisterAfterMs === deregisterAfterMs;
  if (isSame && (given === undefined || isCriticalAlready(existing, status))) return;
  const times = { ttlMs, ...(deregisterAfterMs !== undefined && { deregisterAfterMs }) };
  tx.put(ttlChecks, withDeadline({ node, checkId, serviceId, ...times }, nextDeadline(times, status, tx.now)));
}
