/** `GET /v1/peering/:name/check`: diagnoses why a peering does not connect. */
import { permits } from '../../credentials/acl-token.ts';
import type { RequestContext } from '../../credentials/caller.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { findPeering, peeringNotFound } from '../find/find-peering.ts';
import type { PeeringService } from '../peering-context.ts';
import { checkPeerName, type Peering } from '../record/record.ts';
import { acceptedSecrets, links } from '../record/secrets.ts';
import { type CheckEnvironment, checkAddresses } from './check-address.ts';
import { checkAdvertised, checkRole, checkStream, checkTokenUse } from './check-record.ts';
import { type Check, type CheckReport, reportOf } from './report.ts';
import type { CheckRunner } from './run-check.ts';
import { tellLess } from './tell-less.ts';

export interface PeeringChecks {
  readonly service: Pick<PeeringService, 'credentials' | 'clock' | 'identity' | 'addresses' | 'consul'>;
  readonly environment: CheckEnvironment;
  readonly runner: CheckRunner;
}

/**
 * Checks a peering. Requires `peering:write` on the name, because the server opens connections and the report contains
 * the status of the token.
 * @param caller aborts when the client disconnects
 * @throws ServiceError `bad-request` | `permission-denied` | `not-found` | `rate-limited` | `unavailable`; StateError
 */
export async function checkPeering(
  checks: PeeringChecks,
  context: RequestContext,
  name: string,
  caller: AbortSignal,
): Promise<CheckReport> {
  checkPeerName(name);
  const { credentials } = checks.service;
  await credentials.state.consistent();
  const { snapshot } = credentials.state;
  const { caller: token, partition, stored } = findPeering(credentials, snapshot, { context, name, access: 'write' });
  if (stored === undefined) throw peeringNotFound(name);
  const { row } = stored;
  const checking =
    row.role === 'dialing' ? checkDialing(checks, snapshot, row, caller) : checkAccepting(checks, snapshot, row);
  const report = [checkRole(row), ...(await checking)];
  // The other cluster, which the caller of one name may control, can announce any address.
  const mayScan = permits(token.grants, { resource: 'peering', access: 'write', partition });
  return reportOf(mayScan ? report : tellLess(report), row.name);
}

async function checkAccepting(
  { service }: PeeringChecks,
  reader: Reader,
  row: DeepReadonly<Peering>,
): Promise<Check[]> {
  const secrets = reader.get(acceptedSecrets, row.id)?.row;
  return [checkTokenUse(row, secrets, service.clock.now()), checkStream(row), checkAdvertised(service.addresses())];
}

async function checkDialing(
  { environment, runner }: PeeringChecks,
  reader: Reader,
  row: DeepReadonly<Peering>,
  caller: AbortSignal,
): Promise<Check[]> {
  const link = reader.get(links, row.id)?.row;
  const { peer: server } = row;
  // A TERMINATED peering has no link, nor has one that was imported without its secret.
  if (link === undefined || server === undefined) return [checkStream(row, false)];
  const peer = { id: server.id, serverName: server.serverName, roots: link.roots };
  const addressChecks = await runner.run(caller, (signal) =>
    checkAddresses(environment, server.addresses, peer, signal),
  );
  return [checkStream(row), ...addressChecks];
}
