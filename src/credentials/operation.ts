/** What every operation on credentials gets: the state with its rules, and who asks from where. */
import type { Origin } from '../audit/record.ts';
import type { ReadResult } from '../http/blocking/reads.ts';
import { type Connection, leftOf } from '../http/call.ts';
import { WRITE_BYTES_DEFAULT } from '../state/limits.ts';
import type { Reader } from '../state/memory/reader.ts';
import type { State, Watched } from '../state/state.ts';
import { rowTopic } from '../state/watch/change-notifier.ts';
import type { Transaction } from '../state/write/transaction.ts';
import { aclTokens } from './acl-token.ts';
import { type AclPolicy, authenticate, type Caller } from './caller.ts';
import { type Edition, type GivenPartitions, givenPartition } from './request-partition.ts';

/** What holds for the whole server. */
export interface Credentials {
  readonly state: State;
  readonly policy: AclPolicy;
  readonly edition: Edition;
}

/** Where a request comes from and what it says about itself. */
export interface Asked {
  /** The hash of the presented secret; undefined: none was presented. */
  readonly secretHash: string | undefined;
  readonly partitions: GivenPartitions;
  readonly address: string;
  readonly requestId: string;
  /** Tells whether the caller is still there. */
  readonly connection: Connection;
  /** How long the body is, which is held until the answer. */
  readonly bodyBytes: number;
}

/** A caller with the partition that its request is about, not yet looked up. */
export interface Located {
  readonly caller: Caller;
  /** The partition that the request names. */
  readonly named: string | undefined;
  /** That one, else the caller's own. */
  readonly partition: string;
}

/**
 * Resolves the caller in one picture of the state, and the partition: named by the request, else the token's own.
 * The syntax of the partition comes first, as the order of checks wants.
 * @param allAllowed the request may name all partitions, by `*`
 * @throws ServiceError `bad-request` | `permission-denied`
 */
export function locate(credentials: Credentials, reader: Reader, asked: Asked, allAllowed = false): Located {
  const named = givenPartition(asked.partitions, credentials.edition, allAllowed);
  const caller = authenticate(reader, asked.secretHash, credentials.policy);
  return { caller, named, partition: named ?? caller.partition };
}

/**
 * A write for who asks: not made when they have left before it is started, and counted with the body that it holds.
 * @throws StateError, see `State.write`
 */
export function writeFor<T>({ state }: Credentials, asked: Asked, fn: (tx: Transaction) => T): Promise<T> {
  return state.write(fn, { signal: leftOf(asked.connection), bytes: WRITE_BYTES_DEFAULT + asked.bodyBytes });
}

/** The origin of a change, for the audit log. */
export function originOf({ address, requestId }: Asked, { accessorId }: Caller): Origin {
  return { actor: accessorId ?? 'anonymous', address, requestId };
}

/** What a waiting query of this caller depends on besides its result: its own token. */
export function waitingAs({
  accessorId,
  expiresAtMs,
}: Caller): Pick<ReadResult, 'alsoWake' | 'expiresAtMs' | 'waiterKey'> {
  if (accessorId === undefined) return { waiterKey: 'anonymous' };
  return { alsoWake: [rowTopic(aclTokens, accessorId)], expiresAtMs, waiterKey: accessorId };
}

/**
 * The caller's own token as a part of a list that its grants filter: with other grants the list is another one, so its
 * index must move, and must not fall when a partition drops out.
 */
export function watchedGrants({ state }: Credentials, { accessorId }: Caller): readonly Watched[] {
  return accessorId === undefined ? [] : [state.watchRow(aclTokens, accessorId)];
}
