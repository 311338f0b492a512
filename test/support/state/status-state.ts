/** What parts that publish status rows see of a state, with other servers that a test plays. */
import type { Engine } from '../../../src/state/engine/engine.ts';
import { StatusBoard } from '../../../src/state/jobs/status-rows.ts';
import type { State } from '../../../src/state/state.ts';

export interface StatusState {
  readonly state: State;
  /** What was published, by slot. */
  readonly published: ReadonlyMap<string, unknown>;
  /** Keys of rows that are there. */
  readonly rows: Set<string>;
  /** Another server says something in a slot. */
  say(node: string, slot: string, value: unknown): void;
  /** These servers are members from now on. */
  members(...names: readonly string[]): void;
}

/** A server alone. */
export function statusState(): StatusState {
  const published = new Map<string, unknown>();
  const rows = new Set<string>();
  const listeners = new Set<() => void>();
  let members: readonly { readonly name: string }[] = [{ name: 'a' }];
  const publish: Engine['publish'] = (slot, value) => void published.set(slot, value && JSON.parse(value));
  const status = new StatusBoard({ publish } as Engine);
  const state = {
    status,
    snapshot: { get: (_table: unknown, key: string) => (rows.has(key) ? { row: { id: key } } : undefined) },
    get members() {
      return members;
    },
    onMembers(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    state: state as unknown as State,
    published,
    rows,
    say: (node, slot, value) => status.onStatus(node, slot, JSON.stringify(value)),
    members(...names) {
      members = names.map((name) => ({ name }));
      for (const listener of listeners) listener();
    },
  };
}
