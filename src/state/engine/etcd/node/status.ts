import type { Clock } from '../../../clock/clock.ts';
import type { EtcdClient } from '../client/client.ts';
import type { Log } from '../client/options.ts';
import { put, remove } from '../client/requests.ts';
import type { NodeLease } from '../commit/commit.ts';
import { createNotifier } from '../commit/notifier.ts';
import type { Keys } from '../keys.ts';
import { STATUS_PUT_INTERVAL_MS } from '../limits.ts';

/** Puts this node's status rows: the first value of a slot at once, later values at most every 10 s [ETCD-77]. */
export interface StatusPublisher {
  /** Sets the value of a slot. `null` removes the slot. */
  publish(slot: string, value: string | null): void;
  /** Puts all rows again, because etcd deleted them with the old lease. */
  putAllAgain(): void;
  close(): Promise<void>;
}

export interface StatusOptions {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly node: string;
  readonly live: () => NodeLease | undefined;
}

interface Slot {
  value: string | null;
  /** The value in etcd; undefined if unknown. */
  stored: string | null | undefined;
  /** Monotonic time of the earliest next put. */
  notBefore: number;
}

export function createStatusPublisher(options: StatusOptions): StatusPublisher {
  const { clock } = options;
  const slots = new Map<string, Slot>();
  const notifier = createNotifier(clock);
  const closed = new AbortController();

  const nextDue = (): readonly [string, Slot] | undefined => {
    const due = [...slots].filter(([, slot]) => slot.value !== slot.stored);
    return due.reduce<(typeof due)[number] | undefined>(
      (first, each) => (first === undefined || each[1].notBefore < first[1].notBefore ? each : first),
      undefined,
    );
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const due = options.live() === undefined ? undefined : nextDue();
      const waitMs = due === undefined ? Number.POSITIVE_INFINITY : due[1].notBefore - clock.monotonic();
      if (due === undefined || waitMs > 0) await notifier.wait(waitMs, signal);
      else await write(options, due[0], due[1], signal);
      for (const [name, slot] of slots) if (slot.value === null && slot.stored === null) slots.delete(name);
    }
  };
  const running = run(closed.signal);

  return {
    publish(name, value) {
      const slot = slots.get(name);
      if (slot !== undefined) slot.value = value;
      else if (value !== null) slots.set(name, { value, stored: undefined, notBefore: Number.NEGATIVE_INFINITY });
      notifier.notify();
    },
    putAllAgain() {
      for (const slot of slots.values()) {
        slot.stored = undefined;
        slot.notBefore = Number.NEGATIVE_INFINITY;
      }
      notifier.notify();
    },
    async close() {
      closed.abort(new Error('the engine is closed'));
      await running;
    },
  };
}

async function write(options: StatusOptions, name: string, slot: Slot, signal: AbortSignal): Promise<void> {
  const { client, clock, keys, node } = options;
  const lease = options.live()?.lease;
  if (lease === undefined) return;
  const key = keys.status(node, name);
  const { value } = slot;
  slot.stored = value;
  slot.notBefore = clock.monotonic() + STATUS_PUT_INTERVAL_MS;
  try {
    const operation = value === null ? remove(key) : put(key, value, lease);
    await client.retry((endpoint, call) => endpoint.kv.txn({ success: [operation] }, call), signal);
  } catch (error) {
    if (signal.aborted) return;
    options.log('warn', 'status row not stored', { slot: name, error: String(error) });
    slot.stored = undefined;
    slot.notBefore = clock.monotonic() + STATUS_PUT_INTERVAL_MS;
  }
}
