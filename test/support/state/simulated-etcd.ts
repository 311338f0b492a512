/**
 * An in-process etcd for simulations that a seed reproduces. It implements the parts of KV, Watch, and Lease that the
 * engine uses, on the injected clock. It has one member and no elections; `faulty-link.ts` simulates network faults.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, createRouterTransport, type Transport } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../src/state/clock/clock.ts';
import {
  type Compare,
  Compare_Result,
  Event_Type,
  KeyValueSchema,
  KV,
  Lease,
  type RangeRequest,
  RangeRequest_SortOrder,
  type RequestOp,
  type TxnRequest,
  Watch,
  type WatchCreateRequest,
} from '../../../src/state/engine/etcd/client/gen/etcd_pb.ts';
import type { Random } from '../random.ts';
import { type Change, createMvccStore, type KeyVersion, type MvccStore, type StoreBackup } from './mvcc-store.ts';

/** Default of etcd's `--max-txn-ops`. */
const TXN_OPERATIONS_MAX = 128;
/** Events of one revision in one message. A low number, so that the engine often has to join fragments. */
const FRAGMENT_EVENTS = 4;

export interface SimulatedEtcd {
  readonly transport: Transport;
  readonly revision: bigint;
  /** Longest delay of a watch event. */
  watchLagMsMax: number;
  /** Compacts the history up to a revision, by default the newest. Cancels watches that are behind it. */
  compact(revision?: bigint): void;
  /** Ends a random lease and deletes its keys. */
  loseLease(): void;
  /** Ends every watch, like a member that restarts. */
  cutWatches(): void;
  backup(): StoreBackup;
  /**
   * Restores an older store and ends every watch. The cluster ID changes (`other`) as after a restore from a snapshot,
   * or stays (`same`) as after copying the data directory back.
   */
  restore(backup: StoreBackup, cluster: 'same' | 'other'): void;
  /** Returns every key below a prefix with its value as text. */
  dump(prefix: string): Map<string, string>;
}

interface Grant {
  readonly ttlMs: number;
  endsAt: number;
}

export function createSimulatedEtcd(clock: Clock, random: Random): SimulatedEtcd {
  const store = createMvccStore();
  const leases = new Map<bigint, Grant>();
  let clusterId = 1n;
  let lastLease = 0n;
  let watchesEnd = new AbortController();

  const header = () => ({ clusterId, memberId: 1n, revision: store.revision, raftTerm: 1n });

  const endLease = (id: bigint): void => {
    leases.delete(id);
    const keys = store.range('', '\u00ff', store.revision).filter(({ lease }) => lease === id);
    store.write(keys.map(({ key }) => ({ key, value: undefined, lease: 0n })));
  };
  const expireWhenDue = (id: bigint): void => {
    const grant = leases.get(id);
    if (grant === undefined) return;
    const left = grant.endsAt - clock.monotonic();
    if (left <= 0) endLease(id);
    else clock.after(left, () => expireWhenDue(id));
  };
  const cutWatches = (): void => {
    watchesEnd.abort(new ConnectError('etcdserver: server stopped', Code.Unavailable));
    watchesEnd = new AbortController();
  };

  const etcd: SimulatedEtcd = {
    transport: createRouterTransport((router) => {
      serveKv(router);
      serveWatch(router);
      serveLease(router);
    }),
    get revision() {
      return store.revision;
    },
    watchLagMsMax: 0,
    compact(revision = store.revision) {
      if (revision > store.compacted) store.compact(revision);
    },
    loseLease() {
      if (leases.size > 0) endLease(random.pick([...leases.keys()]));
    },
    cutWatches,
    backup: () => store.backup(),
    restore(backup, cluster) {
      store.restore(backup);
      leases.clear();
      if (cluster === 'other') clusterId++;
      cutWatches();
    },
    dump(prefix) {
      const found = store.range(toLatin1(Buffer.from(prefix)), '\u00ff', store.revision);
      return new Map(
        found.map(({ key, value }) => [Buffer.from(key, 'latin1').toString(), Buffer.from(value ?? []).toString()]),
      );
    },
  };

  function serveKv(router: ConnectRouter): void {
    router.service(KV, {
      range: (request) => ({ header: header(), ...range(store, request) }),
      txn: (request) => ({ ...runTransaction(store, leases, request), header: header() }),
      compact({ revision }) {
        if (revision <= store.compacted) throw compactedError();
        if (revision > store.revision) throw futureError();
        store.compact(revision);
        return {};
      },
    });
  }

  function serveWatch(router: ConnectRouter): void {
    router.service(Watch, {
      async *watch(requests, { signal }) {
        for await (const { request } of requests) {
          if (request.case !== 'createRequest') throw new ConnectError('only one watch a stream', Code.Unimplemented);
          yield* follow(request.value, AbortSignal.any([signal, watchesEnd.signal]));
          return;
        }
      },
    });
  }

  async function* follow({ key, rangeEnd, startRevision }: WatchCreateRequest, signal: AbortSignal) {
    const [from, end] = [toLatin1(key), toLatin1(rangeEnd)];
    let next = startRevision;
    yield { header: header(), created: true };
    for (;;) {
      if (next < store.compacted) {
        yield { header: header(), canceled: true, compactRevision: store.compacted };
        return;
      }
      for (const { revision, events } of store.since(next)) {
        const mine = events.filter((event) => event.key >= from && event.key < end);
        next = revision + 1n;
        await sleep(clock, random.next() * etcd.watchLagMsMax, signal);
        for (let start = 0; start < mine.length; start += FRAGMENT_EVENTS) {
          const fragment = start + FRAGMENT_EVENTS < mine.length;
          yield { header: header(), events: mine.slice(start, start + FRAGMENT_EVENTS).map(event), fragment };
        }
      }
      if (next > store.revision) await nextRevision(store, signal);
    }
  }

  function serveLease(router: ConnectRouter): void {
    router.service(Lease, {
      leaseGrant({ TTL }) {
        const id = ++lastLease;
        const ttlMs = Number(TTL) * 1_000;
        leases.set(id, { ttlMs, endsAt: clock.monotonic() + ttlMs });
        expireWhenDue(id);
        return { header: header(), ID: id, TTL };
      },
      leaseRevoke({ ID }) {
        if (!leases.has(ID)) throw leaseError();
        endLease(ID);
        return {};
      },
      async *leaseKeepAlive(requests) {
        for await (const { ID } of requests) {
          const grant = leases.get(ID);
          if (grant !== undefined) grant.endsAt = clock.monotonic() + grant.ttlMs;
          yield { header: header(), ID, TTL: BigInt((grant?.ttlMs ?? 0) / 1_000) };
        }
      },
    });
  }

  return etcd;
}

function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function keyValue({ key, created, modified, version, value, lease }: KeyVersion) {
  const fields = { createRevision: created, modRevision: modified, version, lease };
  return { key: Buffer.from(key, 'latin1'), value: value ?? new Uint8Array(), ...fields };
}

function event(changed: KeyVersion) {
  const { key, modified } = changed;
  if (changed.value !== undefined) return { type: Event_Type.PUT, kv: keyValue(changed) };
  return { type: Event_Type.DELETE, kv: { key: Buffer.from(key, 'latin1'), modRevision: modified } };
}

function range(store: MvccStore, { key, rangeEnd, limit, revision, sortOrder, keysOnly }: RangeRequest) {
  const at = revision > 0n ? revision : store.revision;
  if (at < store.compacted) throw compactedError();
  if (at > store.revision) throw futureError();
  const found = store.range(toLatin1(key), rangeEnd.length === 0 ? undefined : toLatin1(rangeEnd), at);
  if (sortOrder === RangeRequest_SortOrder.DESCEND) found.reverse();
  const taken = limit > 0n ? found.slice(0, Number(limit)) : found;
  const kvs = taken.map((each) =>
    toBinary(KeyValueSchema, create(KeyValueSchema, keyValue(keysOnly ? { ...each, value: new Uint8Array() } : each))),
  );
  return { kvs, more: taken.length < found.length, count: BigInt(found.length) };
}

function runTransaction(
  store: MvccStore,
  leases: ReadonlyMap<bigint, unknown>,
  { compare, success, failure }: TxnRequest,
) {
  if (Math.max(compare.length, success.length, failure.length) > TXN_OPERATIONS_MAX) {
    throw new ConnectError('etcdserver: too many operations in txn request', Code.InvalidArgument);
  }
  const succeeded = compare.every((each) => holds(store, each));
  const steps = succeeded ? success : failure;
  const changes = steps.flatMap((step) => changesOf(store, step));
  if (changes.some(({ lease }) => lease !== 0n && !leases.has(lease))) throw leaseError();
  const put = changes.filter(({ value }) => value !== undefined).map(({ key }) => key);
  if (new Set(put).size < put.length)
    throw new ConnectError('etcdserver: duplicate key given in txn request', Code.InvalidArgument);
  // The engine's transactions read before they write, so all reads use the state before the changes.
  const responses = steps.map(({ request }) => {
    if (request.case !== 'requestRange') return { response: { case: 'responsePut' as const, value: {} } };
    return { response: { case: 'responseRange' as const, value: range(store, request.value) } };
  });
  store.write(changes);
  return { succeeded, responses };
}

function changesOf(store: MvccStore, { request }: RequestOp): Change[] {
  if (request.case === 'requestPut') {
    const { key, value, lease } = request.value;
    return [{ key: toLatin1(key), value, lease }];
  }
  if (request.case !== 'requestDeleteRange') return [];
  const { key, rangeEnd } = request.value;
  const found = store.range(toLatin1(key), rangeEnd.length === 0 ? undefined : toLatin1(rangeEnd), store.revision);
  return found.map((each) => ({ key: each.key, value: undefined, lease: 0n }));
}

/** Evaluates a compare. Supports only what the engine uses: EQUAL on the revision or the value. */
function holds(store: MvccStore, { result, key, targetUnion }: Compare): boolean {
  if (result !== Compare_Result.EQUAL) throw new ConnectError('only EQUAL is simulated', Code.Unimplemented);
  const found = store.get(toLatin1(key), store.revision);
  if (targetUnion.case === 'modRevision') return (found?.modified ?? 0n) === targetUnion.value;
  if (targetUnion.case === 'value')
    return found?.value !== undefined && Buffer.compare(found.value, targetUnion.value) === 0;
  throw new ConnectError(`${targetUnion.case} is not simulated`, Code.Unimplemented);
}

function nextRevision(store: MvccStore, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = store.onRevision(() => {
      end();
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    const onAbort = (): void => {
      end();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

const compactedError = (): ConnectError =>
  new ConnectError('etcdserver: mvcc: required revision has been compacted', Code.OutOfRange);
const futureError = (): ConnectError =>
  new ConnectError('etcdserver: mvcc: required revision is a future revision', Code.OutOfRange);
const leaseError = (): ConnectError => new ConnectError('etcdserver: requested lease not found', Code.NotFound);
