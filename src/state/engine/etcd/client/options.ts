import type { Clock } from '../../../clock/clock.ts';
import type { Link, Tls } from './transport.ts';

/** Receives what an operator should know; `fields` are plain values, never secrets. */
export type Log = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;

/** What the etcd engine is told when it is made. */
export interface EtcdEngineOptions {
  /** Base URLs of etcd's members, `http://host:port` or `https://…`; used in rotation. */
  readonly endpoints: readonly string[];
  /** Every key lies under it; ends in `/`. */
  readonly prefix: string;
  /** Certificates as PEM text, for `https` endpoints. */
  readonly tls?: Tls | undefined;
  /** For an etcd with authentication enabled. */
  readonly credentials?: { readonly username: string; readonly password: string } | undefined;
  /** etcd's `--max-txn-ops` (128). */
  readonly maxTxnOps: number;
  /** Bytes of keys and values in one commit (1 MiB); etcd's `--max-request-bytes` must lie some way above. */
  readonly maxTxnBytes: number;
  /** How much history a compaction leaves, in milliseconds; `off` where others use the same etcd. */
  readonly compactMs: number | 'off';
  /** How long a dead node is believed alive; etcd counts in whole seconds and takes at least about two. */
  readonly leaseMs: number;
  readonly clock: Clock;
  /** A new random UUID. */
  readonly id: () => string;
  readonly log: Log;
  /** Opens an endpoint; left out, gRPC over HTTP/2. Simulations put an etcd of their own here. */
  readonly connect?: ((endpoint: string) => Link) | undefined;
}
