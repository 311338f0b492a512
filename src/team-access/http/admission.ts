/** Admits requests to team access by their headers: counts them, and finds the caller of a request with a body. */
import { addressKey } from '../../budget/address-key.ts';
import type { Admission, BodyOwner, Call } from '../../http/call.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { State } from '../../state/state.ts';
import { type Caller, callerId, findCaller, presentedTokenHash } from '../authorization/caller.ts';
import { contentTypeError, isMediaType, JSON_API_MEDIA_TYPE } from '../jsonapi/media-type.ts';
import { apiTokens } from '../tables/authentication-token.ts';
import { teams } from '../tables/team.ts';
import type { RateCounter, RateLimit } from './rate-limit.ts';

/** Creates the admission of team access. Every request counts, also one that no endpoint serves. [TEAM-93] */
export function createAdmission(state: State, rateLimit: RateLimit): Admission {
  const callerOf = (secretHash: string | undefined): Caller | undefined => findCaller(state.snapshot, secretHash);
  return {
    admit(call) {
      const secretHash = presentedTokenHash(call);
      const { snapshot } = state;
      return { headers: rateLimit.count(countersOf(snapshot, callerOf(secretHash), call)), secretHash };
    },
    bodyOwner({ admitted, request, route }): BodyOwner {
      const caller = callerOf(admitted?.secretHash);
      if (caller === undefined) return { caller: undefined, refusal: unauthorized() };
      const wanted = route.bodyType ?? JSON_API_MEDIA_TYPE;
      if (!isMediaType(request.headers['content-type'], wanted)) {
        return { caller: undefined, refusal: new ServiceError('unsupported-media-type', contentTypeError(wanted)) };
      }
      return { caller: callerId(caller), isOperator: caller.kind === 'user' && caller.siteAdmin };
    },
  };
}

const unauthorized = (): ServiceError =>
  new ServiceError('unauthorized', 'the token is missing or not valid', { headers: ['WWW-Authenticate', 'Bearer'] });

/** Returns the counters of a request, the caller's own first. [TEAM-91] [TEAM-92] */
function countersOf(reader: Snapshot, caller: Caller | undefined, { request }: Call): readonly RateCounter[] {
  if (caller === undefined) {
    return [{ bound: 'address', key: `address ${addressKey(request.socket.remoteAddress)}` }];
  }
  const own: RateCounter = { bound: 'caller', key: callerId(caller) };
  if (caller.kind === 'user') return [own];
  const counters = [own];
  if (caller.kind === 'team') {
    const organizationId = reader.get(teams, caller.teamId)?.row.organizationId;
    counters.push({ bound: 'teams', key: `teams of ${organizationId}` });
  }
  // The counter of a user is the one of the user's own requests.
  const createdBy = reader.get(apiTokens, caller.tokenId)?.row.createdBy;
  if (createdBy !== undefined) counters.push({ bound: 'creator', key: createdBy });
  return counters;
}
