/**
 * The caller of a `/v1` request: reads the token and the partition, authenticates the token, and authorizes by its
 * grants.
 */

import type { Origin } from '../audit/record.ts';
import { addressKey } from '../budget/address-key.ts';
import { createOneAtATime, type OneAtATime } from '../budget/one-at-a-time.ts';
import type { ReadResult } from '../http/blocking/blocking-query.ts';
import { type Call, type ClientConnection, polledDisconnectSignal } from '../http/call.ts';
import { ServiceError } from '../http/errors.ts';
import { PARTITION, PARTITION_HEADER } from '../http/v1/parameters.ts';
import type { Steps } from '../state/clock/slices.ts';
import { WRITE_BYTES_DEFAULT } from '../state/limits.ts';
import type { Reader } from '../state/memory/reader.ts';
import type { State, Watched } from '../state/state.ts';
import { rowTopic } from '../state/watch/change-notifier.ts';
import type { WriteCaller } from '../state/write/admission.ts';
import type { Transaction } from '../state/write/transaction.ts';
import type { WriteOptions } from '../state/write/write-queue.ts';
import {
  ALL_GRANTS,
  aclTokens,
  type Grant,
  type Permission,
  permits,
  permitsAnyName,
  type Resource,
} from './acl-token.ts';
import { hashSecret } from './ids-and-secrets.ts';
import { SECRET_CHARACTERS_MAX } from './limits.ts';
import {
  DEFAULT_PARTITION,
  type Edition,
  partitions,
  type RequestPartitions,
  requestedPartition,
} from './partition.ts';

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

/** The state and the settings that authenticate and authorize every request. */
export interface Credentials {
  readonly state: State;
  readonly policy: AclPolicy;
  readonly edition: Edition;
}

export interface RequestContext {
  /** Absent: the request presents no token. */
  readonly secretHash: string | undefined;
  readonly partitions: RequestPartitions;
  readonly address: string;
  readonly requestId: string;
  /** Polled to find out whether the client has disconnected. */
  readonly connection: ClientConnection;
  /** The length of the body, which stays in memory until the response. */
  readonly bodyBytes: number;
}

/**
 * Reads the token and the partition from the headers and the query.
 * @param consul also accepts `X-Consul-Token` and `X-Consul-Partition` if the request has no others [V1-90]
 * @throws ServiceError `bad-request` for two different tokens [ACL-3]; `permission-denied` for a token that is too long
 */
export function requestContextOf(call: Call, consul: boolean): RequestContext {
  const { id, request, query, body } = call;
  return {
    secretHash: call.admitted?.secretHash ?? hashOfSecret(presentedSecret(request.headers, consul)),
    partitions: {
      query: query.get(PARTITION.name),
      header: singleValue(
        request.headers[PARTITION_HEADER_KEY] ?? (consul ? request.headers['x-consul-partition'] : undefined),
      ),
    },
    address: request.socket.remoteAddress ?? '',
    requestId: id,
    connection: request.socket,
    bodyBytes: body.length,
  };
}

/** Returns the hash of the presented secret. Returns `undefined` for secrets that `requestContextOf` rejects, too. */
export function presentedHash({ request }: Call, consul: boolean): string | undefined {
  try {
    return hashOfSecret(presentedSecret(request.headers, consul));
  } catch {
    return undefined;
  }
}

const hashOfSecret = (secret: string | undefined): string | undefined =>
  secret === undefined ? undefined : hashSecret(secret);

/** Node lowercases the names of headers. */
const PARTITION_HEADER_KEY = PARTITION_HEADER.name.toLowerCase();

type Headers = Call['request']['headers'];

const BEARER = /^bearer +(\S+) *$/i;

function presentedSecret(headers: Headers, consul: boolean): string | undefined {
  const own = singleValue(headers['x-service-token']);
  const bearer = headers.authorization === undefined ? undefined : bearerToken(headers.authorization);
  if (own !== undefined && bearer !== undefined && own !== bearer) {
    throw new ServiceError('bad-request', 'X-Service-Token and Authorization contain different tokens: send only one');
  }
  const secret = own ?? bearer ?? (consul ? singleValue(headers['x-consul-token']) : undefined);
  if (secret !== undefined && secret.length > SECRET_CHARACTERS_MAX) {
    throw new ServiceError('permission-denied', 'ACL not found');
  }
  return secret;
}

/** Ignores other schemes, because they may belong to a proxy [ACL-2]. */
function bearerToken(header: string): string | undefined {
  return BEARER.exec(header)?.[1];
}

/** Treats an empty header as absent. Node joins repeated headers, and the joined value matches no token [ACL-4]. */
function singleValue(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value.join(',') : value;
  return text === undefined || text === '' ? undefined : text;
}

/** A caller with the partition of its request. The partition may not exist. */
export interface ResolvedCaller {
  readonly caller: Caller;
  readonly requestedPartition: string | undefined;
  /** The requested partition, or that of the caller's token [ACL-48]. */
  readonly partition: string;
}

/**
 * Resolves the caller and the partition of a request. Checks the syntax of the partition first [V1-52].
 * @param allAllowed accepts `*` as the partition
 * @throws ServiceError `bad-request` | `permission-denied`
 */
export function resolveCaller(
  credentials: Credentials,
  reader: Reader,
  context: RequestContext,
  allAllowed = false,
): ResolvedCaller {
  const requested = requestedPartition(context.partitions, credentials.edition, allAllowed);
  const caller = authenticate(reader, context.secretHash, credentials.policy);
  return { caller, requestedPartition: requested, partition: requested ?? caller.partition };
}

/**
 * Returns the caller to whom a write is charged: the token or, for anonymous requests, the address. The transaction
 * authenticates and authorizes again.
 */
function writeCallerOf({ state, policy }: Credentials, { secretHash, address }: RequestContext): WriteCaller {
  const token =
    secretHash === undefined || !policy.enabled ? undefined : state.snapshot.find(aclTokens, 'secretHash', secretHash);
  if (token === undefined) return { rateKey: `address/${addressKey(address)}`, isOperator: false };
  const { accessorId, grants } = token.row;
  return { rateKey: `token/${accessorId}`, isOperator: permits(grants, OPERATE) };
}

/** Holders of this permission use the reserve of the state, see `WriteCaller.isOperator`. */
const OPERATE: Permission = { resource: 'operator', access: 'write', partition: '*' };

/** Writes for a request, unless its client disconnects before the start. @throws StateError, see `State.write` */
export function writeForRequest<T>(
  credentials: Credentials,
  context: RequestContext,
  fn: (tx: Transaction) => T,
  { isRemoval = false }: Pick<WriteOptions, 'isRemoval'> = {},
): Promise<T> {
  return credentials.state.write(fn, { ...writeOptions(credentials, context), isRemoval });
}

/** The callers of `/v1` with a large request under way, by state. */
const largeRequests = new WeakMap<State, OneAtATime>();

/**
 * Begins a large request, which runs in slices. Each caller has one at a time [SRV-126].
 * @returns an object whose disposal ends it
 * @throws ServiceError `rate-limited`
 */
export function beginLargeRequest(credentials: Credentials, context: RequestContext): Disposable {
  const requests = largeRequests.getOrInsertComputed(credentials.state, createOneAtATime);
  const begun = requests.begin(writeCallerOf(credentials, context).rateKey ?? context.address);
  if (begun !== undefined) return begun;
  const text = 'another large request of the same caller is running: send large requests one after another';
  throw new ServiceError('rate-limited', text, { retryAfterSeconds: 1 });
}

/** Makes a large write for a request, as `writeForRequest`, but in slices. See `State.writeInSlices`. */
export const writeInSlicesForRequest = <T>(
  credentials: Credentials,
  context: RequestContext,
  fn: (tx: Transaction) => Steps<T>,
): Promise<T> => credentials.state.writeInSlices(fn, writeOptions(credentials, context));

const writeOptions = (credentials: Credentials, context: RequestContext) => ({
  caller: writeCallerOf(credentials, context),
  signal: polledDisconnectSignal(context.connection),
  bytes: WRITE_BYTES_DEFAULT + context.bodyBytes,
});

/** Returns the actor, address and request ID for the audit log [SRV-88]. */
export function originOf({ address, requestId }: RequestContext, { accessorId }: Caller): Origin {
  return { actor: accessorId ?? 'anonymous', address, requestId };
}

/** Returns the part of a read's result that ends a waiting query when the caller's token changes or expires [V1-79]. */
export function waitOptionsOf({
  accessorId,
  expiresAtMs,
  grants,
}: Caller): Pick<ReadResult, 'alsoWake' | 'expiresAtMs' | 'waiter'> {
  const waiter = { token: accessorId ?? 'anonymous', isOperator: () => hasOperatorGrant(grants) };
  if (accessorId === undefined) return { waiter };
  return { alsoWake: [rowTopic(aclTokens, accessorId)], expiresAtMs, waiter };
}

/** Whether the caller may use what is reserved for operators: it has any grant on `operator`. */
export const hasOperatorGrant = (grants: readonly Grant[]): boolean =>
  grants.some(({ Resource }) => Resource === 'operator');

/**
 * Watches the caller's own token, for lists that its grants filter. A change of the grants changes the list, so the
 * list's index must increase, and must not decrease when a partition is omitted.
 */
export function watchOwnToken({ state }: Credentials, { accessorId }: Caller): readonly Watched[] {
  return accessorId === undefined ? [] : [state.watchRow(aclTokens, accessorId)];
}

/**
 * Returns the partitions that `partition=*` covers: those in which the caller has a read grant on the resource
 * [ACL-53]. `filtered` is true if it omits any.
 * @throws ServiceError `permission-denied` if the caller may read the resource in no partition
 */
export function readablePartitions(
  reader: Reader,
  caller: Caller,
  resource: Resource,
): { readonly names: readonly string[]; readonly filtered: boolean } {
  const all = reader.all(partitions).map(({ row }) => row.name);
  const names = all.filter((partition) => permitsAnyName(caller.grants, resource, 'read', partition));
  if (names.length === 0) throw permissionDenied(caller, { resource, access: 'read' });
  return { names, filtered: names.length < all.length };
}
