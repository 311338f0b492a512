/**
 * Admits requests to `/v1` by their headers: counts them against `limits.rate-per-token`, and finds the caller of a
 * request with a body. Grants are checked later, by the endpoint.
 */
import { addressKey } from '../budget/address-key.ts';
import type { Measured } from '../budget/measured.ts';
import { createRate, type Rate } from '../budget/rate.ts';
import type { Admission, Admitted, BodyOwner, Call } from '../http/call.ts';
import { ServiceError } from '../http/errors.ts';
import type { Clock } from '../state/clock/clock.ts';
import { authenticate, type Credentials, hasOperatorGrant, presentedHash } from './caller.ts';

export interface V1RateSettings {
  /** `limits.rate-per-token`, per second. 0 means no limit. */
  readonly ratePerToken: number;
}

export interface V1AdmissionOptions {
  readonly credentials: Credentials;
  readonly consul: boolean;
  readonly clock: Clock;
  /** Read for each request, because SIGHUP can change it. */
  readonly settings: V1RateSettings;
  readonly rejectUnmatched?: Admission['rejectUnmatched'];
}

export interface V1Admission extends Admission {
  readonly rates: readonly Measured[];
}

/**
 * Creates the admission of `/v1`. Requests with a valid token count for the token, and all others for their address,
 * because a client can make up any number of tokens. [V1-99]
 */
export function createV1Admission(options: V1AdmissionOptions): V1Admission {
  const { credentials, consul, clock, settings } = options;
  const limits = {
    get perSecond() {
      return settings.ratePerToken;
    },
  };
  const byToken = createRate({ name: 'v1-requests', bound: 'token', limits, clock });
  const byAddress = createRate({ name: 'v1-requests', bound: 'address', limits, clock });

  const callerOf = (secretHash: string | undefined) => {
    try {
      return authenticate(credentials.state.snapshot, secretHash, credentials.policy);
    } catch {
      return undefined;
    }
  };
  /** Whether the token counts by itself. A token that does already needs no lookup. */
  const hasOwnRate = (secretHash: string): boolean =>
    byToken.has(secretHash) || callerOf(secretHash)?.accessorId !== undefined;

  return {
    rates: [byToken, byAddress],
    rejectUnmatched: options.rejectUnmatched,
    admit(call) {
      const secretHash = presentedHash(call, consul);
      if (settings.ratePerToken !== 0) {
        if (secretHash !== undefined && hasOwnRate(secretHash)) count(byToken, secretHash);
        else count(byAddress, addressKey(call.request.socket.remoteAddress));
      }
      return secretHash === undefined ? ANONYMOUS : { headers: NO_HEADERS, secretHash };
    },
    bodyOwner({ admitted, request }: Call): BodyOwner {
      const caller = callerOf(admitted?.secretHash);
      if (caller === undefined) {
        return { caller: undefined, refusal: new ServiceError('permission-denied', 'ACL not found') };
      }
      const { accessorId, grants } = caller;
      if (accessorId === undefined && grants.length === 0) return { caller: undefined, refusal: needsToken() };
      // Callers without a token have grants by the policy of the server. Their addresses tell them apart.
      const name = accessorId ?? addressKey(request.socket.remoteAddress);
      return { caller: name, isOperator: accessorId !== undefined && hasOperatorGrant(grants) };
    },
  };
}

const NO_HEADERS: readonly string[] = [];
const ANONYMOUS: Admitted = { headers: NO_HEADERS, secretHash: undefined };

const needsToken = (): ServiceError =>
  new ServiceError('permission-denied', 'Permission denied: a request with a large body needs a token');

/** @throws ServiceError `rate-limited` */
function count(rate: Rate, key: string): void {
  const waitMs = rate.take(key);
  if (waitMs === 0) return;
  const [{ bound, max } = { bound: '', max: 0 }] = rate.measure();
  const whose = bound === 'token' ? 'with this token' : 'without a valid token from this address';
  throw new ServiceError('rate-limited', `more than ${max} requests a second ${whose} (limits.rate-per-token)`, {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  });
}
