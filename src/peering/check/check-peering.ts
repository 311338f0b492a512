/** `GET /v1/peering/:name/check`: why a peering does, or does not, connect. */
import type { Asked } from '../../credentials/operation.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { findPeering, peeringNotFound } from '../find/find-peering.ts';
import type { PeeringService } from '../peering-context.ts';
import { checkPeerName } from '../record/peer-name.ts';
import type { Peering } from '../record/record.ts';
import { acceptedSecrets, links } from '../record/secrets.ts';
import type { Surroundings } from './check-address.ts';
import { checkAddresses } from './check-addresses.ts';
import { checkAdvertised, checkOutstanding, checkRole, checkStream } from './check-record.ts';
import { type Check, type CheckReport, reportOf } from './report.ts';
import type { CheckRunner } from './run-check.ts';

/** What the connection check stands on. */
export interface PeeringChecks {
  readonly service: Pick<PeeringService, 'credentials' | 'clock' | 'identity' | 'addresses' | 'consul'>;
  readonly around: Surroundings;
  readonly runner: CheckRunner;
}

/**
 * Needs `peering:write` for the name: it makes this server connect somewhere, and tells what
 * `GET /v1/peering/:name/token` does.
 * @param caller aborts when who asked has left
 * @throws ServiceError `bad-request` | `permission-denied` | `not-found` | `rate-limited` | `unavailable`; StateError
 */
export async function checkPeering(
  checks: PeeringChecks,
  asked: Asked,
  name: string,
  caller: AbortSignal,
): Promise<CheckReport> {
  checkPeerName(name);
  const { credentials } = checks.service;
  await credentials.state.consistent();
  const { snapshot } = credentials.state;
  const { stored } = findPeering(credentials, snapshot, { asked, name, access: 'write' });
  if (stored === undefined) throw peeringNotFound(name);
  const { row } = stored;
  const there = row.role === 'dialing' ? dial(checks, snapshot, row, caller) : accept(checks, snapshot, row);
  return reportOf([checkRole(row), ...(await there)], row.name);
}

async function accept({ service }: PeeringChecks, reader: Reader, row: DeepReadonly<Peering>): Promise<Check[]> {
  const secrets = reader.get(acceptedSecrets, row.id)?.row;
  return [checkOutstanding(row, secrets, service.clock.now()), checkStream(row), checkAdvertised(service.addresses())];
}

async function dial(
  { around, runner }: PeeringChecks,
  reader: Reader,
  row: DeepReadonly<Peering>,
  caller: AbortSignal,
): Promise<Check[]> {
  const link = reader.get(links, row.id)?.row;
  const { peer: server } = row;
  // One that has ended keeps nothing to dial with, nor does one whose secret was left out of an import.
  if (link === undefined || server === undefined) return [checkStream(row, false)];
  const peer = { id: server.id, serverName: server.serverName, roots: link.roots };
  const tried = await runner.run(caller, (signal) => checkAddresses(around, server.addresses, peer, signal));
  return [checkStream(row), ...tried];
}
