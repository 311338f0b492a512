/**
 * `PUT /v1/agent/check/pass|warn|fail/:id`: a service says how it is, and with that its check is good for another time
 * to live. Where nothing else has changed, only the time moves: nobody who waits for the service is woken.
 */
import { authorize } from '../../../credentials/caller.ts';
import { type Asked, writeFor } from '../../../credentials/operation.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { absent } from '../query/visibility.ts';
import { readOutput } from '../read-fields.ts';
import { type CatalogService, catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import type { CheckStatus } from '../tables/check.ts';
import { dueAfter, isCriticalAlready, withDue } from '../tables/check-deadline.ts';
import { ttlCheckKey, ttlChecks } from '../tables/ttl-check.ts';
import { type Agent, findAgent, unknownCheck } from './agent.ts';

/** What a service says of one of its checks. */
export interface Report {
  readonly status: CheckStatus;
  /** Shown as the check's output. */
  readonly note: string;
}

/** @throws ServiceError `bad-request` | `permission-denied` | `not-found`, StateError */
export async function reportCheck(agent: Agent, asked: Asked, checkId: string, report: Report): Promise<void> {
  const { status } = report;
  const output = readOutput(report.note);
  await writeFor(agent.credentials, asked, (tx) => {
    const { caller, partition, stored: node } = findAgent(agent, tx, asked, 'write');
    const row = node && tx.get(ttlChecks, ttlCheckKey(node.row.uid, checkId))?.row;
    const service = row && tx.get(catalogServices, catalogServiceKey(row.node, row.serviceId))?.row;
    if (row === undefined || service === undefined) throw absent(caller, partition, unknownCheck(checkId));
    authorize(caller, { resource: 'services', access: 'write', partition, name: service.service.name });
    setCheck(tx, service, checkId, { status, output });
    if (!isCriticalAlready(row, status)) tx.put(ttlChecks, withDue(row, dueAfter(row, status, tx.now)));
  });
}

/** Says something else of one check of a service. */
export function setCheck(
  tx: Transaction,
  service: DeepReadonly<CatalogService>,
  checkId: string,
  said: { readonly status: CheckStatus; readonly output: string },
): void {
  const at = service.checks.findIndex(({ id }) => id === checkId);
  const before = service.checks[at];
  if (before === undefined || (before.status === said.status && before.output === said.output)) return;
  tx.put(catalogServices, { ...service, checks: service.checks.with(at, { ...before, ...said }) });
}
