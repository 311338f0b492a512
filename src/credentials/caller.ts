/** Authenticates and authorizes callers of `/v1` by their ACL tokens. */
import { ServiceError } from '../http/errors.ts';
import type { Reader } from '../state/memory/reader.ts';
import { aclTokens } from './acl-token.ts';
import { ALL_GRANTS, type Grant, type Permission, permits } from './grant.ts';
import { DEFAULT_PARTITION } from './partition.ts';

export interface AclPolicy {
  /** `false`: the server looks up no token and every caller holds every grant [ACL-11]. */
  readonly enabled: boolean;
  /** `allow`: every caller holds grants on all resources but `acl` and `operator` [ACL-10]. */
  readonly defaultPolicy: 'allow' | 'deny';
}

export interface Caller {
  /** Undefined for the anonymous token [ACL-9]. */
  readonly accessorId: string | undefined;
  /** The partition of requests that name none. */
  readonly partition: string;
  /** The grants of the token and of the default policy. */
  readonly grants: readonly Grant[];
  /** Milliseconds since 1970. Undefined: the token does not expire. */
  readonly expiresAtMs: number | undefined;
}

const DEFAULT_ALLOW_GRANTS: readonly Grant[] = ALL_GRANTS.filter(
  ({ Resource }) => Resource !== 'acl' && Resource !== 'operator',
);

const ANONYMOUS: Caller = { accessorId: undefined, partition: DEFAULT_PARTITION, grants: [], expiresAtMs: undefined };
const ANONYMOUS_ALLOWED: Caller = { ...ANONYMOUS, grants: DEFAULT_ALLOW_GRANTS };
const ACL_DISABLED_CALLER: Caller = { ...ANONYMOUS, grants: ALL_GRANTS };

/**
 * Returns the caller whose token has this secret hash; for undefined, the anonymous caller.
 * @throws ServiceError `permission-denied` for an unknown or expired token [ACL-6]
 */
export function authenticate(reader: Reader, secretHash: string | undefined, policy: AclPolicy): Caller {
  if (!policy.enabled) return ACL_DISABLED_CALLER;
  if (secretHash === undefined) return policy.defaultPolicy === 'allow' ? ANONYMOUS_ALLOWED : ANONYMOUS;
  const stored = reader.find(aclTokens, 'secretHash', secretHash);
  if (stored === undefined) throw new ServiceError('permission-denied', 'ACL not found');
  const { accessorId, partition, grants, expirationTime } = stored.row;
  return {
    accessorId,
    partition,
    grants: policy.defaultPolicy === 'allow' ? [...grants, ...DEFAULT_ALLOW_GRANTS] : grants,
    expiresAtMs: expirationTime === undefined ? undefined : Date.parse(expirationTime),
  };
}

/** Checks that the caller holds the permission. @throws ServiceError `permission-denied` */
export function authorize(caller: Caller, permission: Permission): void {
  if (!permits(caller.grants, permission)) throw permissionDenied(caller, permission);
}

/** Returns the error for a caller that lacks a permission [ACL-63], [ACL-64]. */
export function permissionDenied(
  caller: Caller,
  { resource, access }: Pick<Permission, 'resource' | 'access'>,
): ServiceError {
  const permission = `'${resource}:${access}'`;
  const text =
    caller.accessorId === undefined
      ? `anonymous token lacks permission ${permission}. The anonymous token is used implicitly when a request does not specify a token.`
      : `token with AccessorID '${caller.accessorId}' lacks permission ${permission}`;
  return new ServiceError('permission-denied', `Permission denied: ${text}`);
}
