/**
 * Who is calling, as a value. `authenticate` makes it of the presented secret and one picture of the state; `authorize`
 * says whether it may. Rules: peering-decisions, "Tokens of the caller".
 */
import { ServiceError } from '../http/errors.ts';
import type { Reader } from '../state/memory/reader.ts';
import { aclTokens } from './acl-token.ts';
import { EVERYTHING, type Grant, type Permission, permits } from './grant.ts';
import { DEFAULT_PARTITION } from './partition.ts';

export interface AclPolicy {
  /** false: nobody is asked for a token. */
  readonly enabled: boolean;
  /** What holds where no grant decides; `allow` never gives `acl` or `operator`. */
  readonly defaultPolicy: 'allow' | 'deny';
}

export interface Caller {
  /** The accessor ID of the token; undefined for the anonymous token. */
  readonly accessorId: string | undefined;
  /** The partition of its requests unless they name another. */
  readonly partition: string;
  /** What the token and the policy give together. */
  readonly grants: readonly Grant[];
  /** Milliseconds since 1970 at which the token ends; undefined: never. */
  readonly expiresAtMs: number | undefined;
}

/** What `acl.default-policy: allow` gives to everybody. */
const ALLOWED_BY_DEFAULT: readonly Grant[] = EVERYTHING.filter(
  ({ Resource }) => Resource !== 'acl' && Resource !== 'operator',
);

const ANONYMOUS: Caller = { accessorId: undefined, partition: DEFAULT_PARTITION, grants: [], expiresAtMs: undefined };
const ANONYMOUS_ALLOWED: Caller = { ...ANONYMOUS, grants: ALLOWED_BY_DEFAULT };
const UNASKED: Caller = { ...ANONYMOUS, grants: EVERYTHING };

/**
 * The caller behind a secret's hash; undefined is the anonymous token.
 * @throws ServiceError `permission-denied` (`ACL not found`) for a token that is unknown or has expired
 */
export function authenticate(reader: Reader, secretHash: string | undefined, policy: AclPolicy): Caller {
  if (!policy.enabled) return UNASKED;
  if (secretHash === undefined) return policy.defaultPolicy === 'allow' ? ANONYMOUS_ALLOWED : ANONYMOUS;
  const stored = reader.find(aclTokens, 'secretHash', secretHash);
  if (stored === undefined) throw new ServiceError('permission-denied', 'ACL not found');
  const { accessorId, partition, grants, expirationTime } = stored.row;
  return {
    accessorId,
    partition,
    grants: policy.defaultPolicy === 'allow' ? [...grants, ...ALLOWED_BY_DEFAULT] : grants,
    expiresAtMs: expirationTime === undefined ? undefined : Date.parse(expirationTime),
  };
}

/** Refuses unless a grant gives the permission. @throws ServiceError `permission-denied` */
export function authorize(caller: Caller, permission: Permission): void {
  if (!permits(caller.grants, permission)) throw lacks(caller, permission);
}

/** The refusal for a caller who lacks a permission, in the words of the API. */
export function lacks(caller: Caller, { resource, access }: Pick<Permission, 'resource' | 'access'>): ServiceError {
  const permission = `'${resource}:${access}'`;
  const text =
    caller.accessorId === undefined
      ? `anonymous token lacks permission ${permission}. The anonymous token is used implicitly when a request does not specify a token.`
      : `token with AccessorID '${caller.accessorId}' lacks permission ${permission}`;
  return new ServiceError('permission-denied', `Permission denied: ${text}`);
}
