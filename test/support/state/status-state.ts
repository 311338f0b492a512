/** A fake state for tests of status rows, in which the test acts as the other servers. */
import type { Engine } from '../../../src/state/engine/engine.ts';
import { StatusRows } from '../../../src/state/jobs/status-rows.ts';
import type { State } from '../../../src/state/state.ts';

export interface StatusState {
  readonly state: State;
  /** The published values by slot. */
  readonly published: ReadonlyMap<string, unknown>;
  /** Keys of the existing rows. */
  readonly rows: Set<string>;
  /** Publishes a status row as another server. */
  publishFrom(node: string, slot: string, value: unknown): void;
  setLiveNodes(...names: readonly string[]): void;
}

/** Creates a fake state whose only live node is `a`. */
export function statusState(): StatusState {
  const published = new Map<string, unknown>();
  const rows = new Set<string>();
  const listeners = new Set<() => void>();
  let liveNodes: readonly { readonly name: string }[] = [{ name: 'a' }];
  const publish: Engine['publish'] = (slot, value) => void published.set(slot, value && JSON.parse(value));
  const status = new StatusRows({ publish } as Engine);
  const state = {
    status,
    snapshot: { get: (_table: unknown, key: string) => (rows.has(key) ? { row: { id: key } } : undefined) },
    get liveNodes() {
      return liveNodes;
    },
    onLiveNodes(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    state: state as unknown as State,
    published,
    rows,
    publishFrom: (node, slot, value) => status.onStatus(node, slot, JSON.stringify(value)),
    setLiveNodes(...names) {
      liveNodes = names.map((name) => ({ name }));
      for (const listener of listeners) listener();
    },
  };
}
