/**
 * Status rows: values that belong to a running server and disappear with its lease. They do not advance the index, and
 * no decision depends on them. They are exact on their own server and about 10 s old on others. See [STATE-90].
 */
import type { Engine } from '../engine/engine.ts';

export class StatusRows {
  readonly #engine: Engine;
  readonly #own = new Map<string, unknown>();
  /** By node, then by slot. */
  readonly #others = new Map<string, Map<string, unknown>>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Sets this server's row in `slot` to a JSON value; `undefined` deletes it. */
  publish(slot: string, value: unknown): void {
    if (value === undefined) this.#own.delete(slot);
    else this.#own.set(slot, value);
    this.#engine.publish(slot, value === undefined ? null : JSON.stringify(value));
  }

  /** Returns the row of `node` in `slot`; `node: undefined` stands for this server. */
  read(node: string | undefined, slot: string): unknown {
    return (node === undefined ? this.#own : this.#others.get(node))?.get(slot);
  }

  /** Returns the rows of all other servers in `slot`, by node. */
  readOthers(slot: string): Map<string, unknown> {
    const rows = new Map<string, unknown>();
    for (const [node, slots] of this.#others) if (slots.has(slot)) rows.set(node, slots.get(slot));
    return rows;
  }

  /** Applies a change that the engine reports; `null` deletes the row. */
  onStatus(node: string, slot: string, value: string | null): void {
    let slots = this.#others.get(node);
    if (value === null) {
      slots?.delete(slot);
      if (slots?.size === 0) this.#others.delete(node);
      return;
    }
    if (slots === undefined) {
      slots = new Map();
      this.#others.set(node, slots);
    }
    slots.set(slot, JSON.parse(value));
  }
}
