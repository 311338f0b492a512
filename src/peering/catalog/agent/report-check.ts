/**
 * `PUT /v1/agent/check/pass|warn|fail/:id`: sets the status of a check and renews its TTL ([SVC-51]). A report that
 * changes neither status nor output writes only the deadline and wakes no blocking query ([SVC-52]).
 */
import { authorize, type RequestContext, writeForRequest } from '../../../credentials/caller.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { missingOrDenied } from '../query/visibility.ts';
import { readOutput } from '../read-fields.ts';
import { type CatalogService, catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import type { CheckStatus } from '../tables/check.ts';
import { isCriticalAlready, nextDeadline, withDeadline } from '../tables/check-deadline.ts';
import { ttlCheckKey, ttlChecks } from '../tables/ttl-check.ts';
import { type Agent, resolveAgentTarget, unknownCheck } from './agent.ts';

export interface Report {
  readonly status: CheckStatus;
  readonly note: string;
}

/** @throws ServiceError `bad-request` | `permission-denied` | `not-found`, StateError */
export async function reportCheck(
  agent: Agent,
  context: RequestContext,
  checkId: string,
  report: Report,
): Promise<void> {
  const { status } = report;
  const output = readOutput(report.note);
  await writeForRequest(agent.credentials, context, (tx) => {
    const { caller, partition, stored: node } = resolveAgentTarget(agent, tx, context, 'write');
    const row = node && tx.get(ttlChecks, ttlCheckKey(node.row.uid, checkId))?.row;
    const service = row && tx.get(catalogServices, catalogServiceKey(row.node, row.serviceId))?.row;
    if (row === undefined || service === undefined) throw missingOrDenied(caller, partition, unknownCheck(checkId));
    authorize(caller, { resource: 'services', access: 'write', partition, name: service.service.name });
    setCheck(tx, service, checkId, { status, output });
    if (!isCriticalAlready(row, status)) tx.put(ttlChecks, withDeadline(row, nextDeadline(row, status, tx.now)));
  });
}

/** Sets the status and output of a check. Writes nothing if both are unchanged. */
export function setCheck(
  tx: Transaction,
  service: DeepReadonly<CatalogService>,
  checkId: string,
  reported: { readonly status: CheckStatus; readonly output: string },
): void {
  const index = service.checks.findIndex(({ id }) => id === checkId);
  const before = service.checks[index];
  if (before === undefined || (before.status === reported.status && before.output === reported.output)) return;
  tx.put(catalogServices, { ...service, checks: service.checks.with(index, { ...before, ...reported }) });
}
