import type { Clock } from '../../../clock/clock.ts';
import type { Link, Tls } from './transport.ts';

/** Writes one log line for the operator. `fields` are plain values, never secrets. */
export type Log = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;

export interface EtcdEngineOptions {
  /** Base URLs of etcd's members (`http://host:port` or `https://…`), used one at a time. */
  readonly endpoints: readonly string[];
  /** Prefix of every key; ends in `/`. */
  readonly prefix: string;
  /** Certificates as PEM text, for `https` endpoints. */
  readonly tls?: Tls | undefined;
  /** For an etcd with authentication enabled. */
  readonly credentials?: { readonly username: string; readonly password: string } | undefined;
  /** Operations that one transaction may have: etcd's `--max-txn-ops`, 128 by default. */
  readonly maxTxnOps: number;
  /** Bytes of table names, keys, and values in one commit. etcd's `--max-request-bytes` must be somewhat larger. */
  readonly maxTxnBytes: number;
  /** etcd's `--quota-backend-bytes`, for versions before 3.6, which do not report it. */
  readonly quotaBytes: number;
  /** Age in milliseconds from which history is compacted; `off` if other programs use this etcd [ETCD-81]. */
  readonly compactMs: number | 'off';
  /** Time after which a dead node's lease expires. Rounded up to seconds; etcd's minimum is about 2 s [ETCD-67]. */
  readonly leaseMs: number;
  readonly clock: Clock;
  /** Returns a new random UUID. */
  readonly id: () => string;
  readonly log: Log;
  /** Connects to an endpoint, by default with gRPC over HTTP/2. Simulations pass their own etcd here. */
  readonly connect?: ((endpoint: string) => Link) | undefined;
}
