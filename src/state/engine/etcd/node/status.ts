import type { Clock } from '../../../clock/clock.ts';
import type { EtcdClient } from '../client/client.ts';
import type { Log } from '../client/options.ts';
import { put, remove } from '../client/requests.ts';
import { createBell } from '../commit/notifier.ts';
import type { Keys } from '../keys.ts';
import { STATUS_PUT_MS } from '../limits.ts';
import type { NodeLease } from './membership.ts';

/** Puts this node's status rows: the first value of a slot at once, later ones at most every ten seconds. */
export interface StatusPublisher {
  /** `null` removes the slot. */
  publish(slot: string, value: string | null): void;
  /** A new lease knows nothing of what hung on the old one: everything is put again. */
  putAgain(): void;
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
  /** The value that etcd has; undefined: not known. */
  put: string | null | undefined;
  /** Monotonic time before which it is left alone. */
  notBefore: number;
}

export function createStatusPublisher(options: StatusOptions): StatusPublisher {
  const { clock } = options;
  const slots = new Map<string, Slot>();
  const bell = createBell(clock);
  const closed = new AbortController();

  const nextDue = (): readonly [string, Slot] | undefined => {
    const waiting = [...slots].filter(([, slot]) => slot.value !== slot.put);
    return waiting.reduce<(typeof waiting)[number] | undefined>(
      (first, each) => (first === undefined || each[1].notBefore < first[1].notBefore ? each : first),
      undefined,
    );
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const due = options.live() === undefined ? undefined : nextDue();
      const waitMs = due === undefined ? Number.POSITIVE_INFINITY : due[1].notBefore - clock.monotonic();
      if (due === undefined || waitMs > 0) await bell.wait(waitMs, signal);
      else await write(options, due[0], due[1], signal);
      for (const [name, slot] of slots) if (slot.value === null && slot.put === null) slots.delete(name);
    }
  };
  const running = run(closed.signal);

  return {
    publish(name, value) {
      const slot = slots.get(name);
      if (slot !== undefined) slot.value = value;
      else if (value !== null) slots.set(name, { value, put: undefined, notBefore: Number.NEGATIVE_INFINITY });
      bell.ring();
    },
    putAgain() {
      for (const slot of slots.values()) {
        slot.put = undefined;
        slot.notBefore = Number.NEGATIVE_INFINITY;
      }
      bell.ring();
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
  slot.put = value;
  slot.notBefore = clock.monotonic() + STATUS_PUT_MS;
  try {
    const step = value === null ? remove(key) : put(key, value, lease);
    await client.retry((endpoint, call) => endpoint.kv.txn({ success: [step] }, call), signal);
  } catch (error) {
    if (signal.aborted) return;
    options.log('warn', 'a status row was not put', { slot: name, error: String(error) });
    slot.put = undefined;
    slot.notBefore = clock.monotonic() + STATUS_PUT_MS;
  }
}
