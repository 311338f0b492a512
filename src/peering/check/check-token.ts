/** `POST /v1/peering/check`: whether a token could establish a peering from here. The token is not used up. */
import { type Static, Type } from 'typebox';
import { lacks } from '../../credentials/caller.ts';
import { permitsSome } from '../../credentials/grant.ts';
import { type Asked, locate } from '../../credentials/operation.ts';
import { existingPartition } from '../../credentials/request-partition.ts';
import { ServiceError } from '../../http/errors.ts';
import { required } from '../bodies.ts';
import { withBodyPartition } from '../find/find-peering.ts';
import { decodeToken } from '../token/decode-token.ts';
import { clusterOf, type PeeringToken, tokenAddresses } from '../token/token.ts';
import { checkAddresses } from './check-addresses.ts';
import type { PeeringChecks } from './check-peering.ts';
import { type CheckReport, faulty, passed, reportOf } from './report.ts';

/** The body. */
export const tokenCheckSchema = Type.Object(
  {
    PeeringToken: Type.Optional(Type.String({ description: 'Required. From the other cluster.' })),
    Partition: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);

/**
 * Needs `peering:write` for some name in the partition, as establishing does: it makes this server connect somewhere.
 * @param caller aborts when who asked has left
 * @throws ServiceError `bad-request` | `permission-denied` | `rate-limited` | `unavailable`; StateError
 */
export async function checkToken(
  { service, around, runner }: PeeringChecks,
  asked: Asked,
  body: Static<typeof tokenCheckSchema>,
  callerSignal: AbortSignal,
): Promise<CheckReport> {
  const given = required(body.PeeringToken, 'PeeringToken', 'checking a peering token');
  const { credentials, clock, identity } = service;
  await credentials.state.consistent();
  const { snapshot } = credentials.state;
  const { caller, partition } = locate(credentials, snapshot, withBodyPartition(asked, body.Partition));
  if (!permitsSome(caller.grants, 'peering', 'write', partition)) {
    throw lacks(caller, { resource: 'peering', access: 'write' });
  }
  existingPartition(snapshot, partition);

  const token = readToken(given, clock.now());
  if (typeof token === 'string') return reportOf([faulty('token-invalid', token)]);
  if (clusterOf(token.ServerName) === clusterOf(identity.serverName)) {
    return reportOf([faulty('token-own-cluster', token.ServerName)]);
  }
  const peer = { id: token.PeerID, serverName: token.ServerName, roots: token.CA };
  const addresses = tokenAddresses(token);
  const tried = await runner.run(callerSignal, (signal) => checkAddresses(around, addresses, peer, signal));
  return reportOf([passed('token', `of ${token.ServerName}; ${UNKNOWN_HERE}`), ...tried]);
}

/** A token says nothing of its own end, and asking would spend it. */
const UNKNOWN_HERE = 'whether it was used, revoked or has expired, its maker alone knows: accord peering token there';

/** The token, or what is wrong with it. */
function readToken(given: string, nowMs: number): PeeringToken | string {
  try {
    return decodeToken(given, nowMs);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'bad-request') return error.message;
    throw error;
  }
}
