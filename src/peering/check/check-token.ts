/** `POST /v1/peering/check`: checks whether a token can establish a peering from here, without using it ([PEER-99]). */
import { type Static, Type } from 'typebox';
import { authorize, type RequestContext, resolveCaller } from '../../credentials/caller.ts';
import { existingPartition } from '../../credentials/partition.ts';
import { ServiceError } from '../../http/errors.ts';
import { required } from '../bodies.ts';
import { withBodyPartition } from '../find/find-peering.ts';
import { decodeToken } from '../token/decode-token.ts';
import { clusterOf, type PeeringToken, tokenAddresses } from '../token/token.ts';
import { checkAddresses } from './check-address.ts';
import type { PeeringChecks } from './check-peering.ts';
import { type CheckReport, finding, passed, reportOf } from './report.ts';
import { tellLess } from './tell-less.ts';

export const tokenCheckSchema = Type.Object(
  {
    PeeringToken: Type.Optional(Type.String({ description: 'Required. The token that the other cluster generated.' })),
    Partition: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);

/**
 * Checks a token. Requires `peering:write` for every name of the partition, because everyone can forge a token with any
 * address, and the server connects to it.
 * @param callerSignal aborts when the client disconnects
 * @throws ServiceError `bad-request` | `permission-denied` | `rate-limited` | `unavailable`; StateError
 */
export async function checkToken(
  { service, environment, runner }: PeeringChecks,
  context: RequestContext,
  body: Static<typeof tokenCheckSchema>,
  callerSignal: AbortSignal,
): Promise<CheckReport> {
  const text = required(body.PeeringToken, 'PeeringToken', 'checking a peering token');
  const { credentials, clock, identity } = service;
  await credentials.state.consistent();
  const { snapshot } = credentials.state;
  const { caller, partition } = resolveCaller(credentials, snapshot, withBodyPartition(context, body.Partition));
  authorize(caller, { resource: 'peering', access: 'write', partition });
  existingPartition(snapshot, partition);

  const token = tryDecodeToken(text, clock.now());
  if (typeof token === 'string') return reportOf([finding('token-invalid', token)]);
  if (clusterOf(token.ServerName) === clusterOf(identity.serverName)) {
    return reportOf([finding('token-own-cluster', token.ServerName)]);
  }
  const peer = { id: token.PeerID, serverName: token.ServerName, roots: token.CA };
  const addresses = tokenAddresses(token);
  const addressChecks = await runner.run(callerSignal, (signal) =>
    checkAddresses(environment, addresses, peer, signal),
  );
  return reportOf([passed('token', `of ${token.ServerName}; ${USE_UNKNOWN}`), ...tellLess(addressChecks)]);
}

/** A token does not contain its expiry, and asking the other cluster would use it. */
const USE_UNKNOWN =
  'only the other cluster knows whether the token was used, revoked or has expired: run accord peering token there';

/** Returns the token, or the message of the decoding error. */
function tryDecodeToken(text: string, nowMs: number): PeeringToken | string {
  try {
    return decodeToken(text, nowMs);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'bad-request') return error.message;
    throw error;
  }
}
