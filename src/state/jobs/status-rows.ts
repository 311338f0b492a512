/**
 * Status rows: what belongs to a running node and goes with it. They move no index and decide nothing. The own ones are
 * exact here; those of others are as old as their last publication (about 10 s).
 */
import type { Engine } from '../engine/engine.ts';

export class StatusBoard {
  readonly #engine: Engine;
  readonly #own = new Map<string, unknown>();
  readonly #others = new Map<string, Map<string, unknown>>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Sets this node's row in `slot` to a JSON value, or removes it with `undefined`. */
  publish(slot: string, value: unknown): void {
    if (value === undefined) this.#own.delete(slot);
    else this.#own.set(slot, value);
    this.#engine.publish(slot, value === undefined ? null : JSON.stringify(value));
  }

  /** What `node` said in `slot`; `node: undefined` means this one. */
  read(node: string | undefined, slot: string): unknown {
    return (node === undefined ? this.#own : this.#others.get(node))?.get(slot);
  }

  /** What every other node said in `slot`, by node. */
  ofOthers(slot: string): Map<string, unknown> {
    const found = new Map<string, unknown>();
    for (const [node, slots] of this.#others) if (slots.has(slot)) found.set(node, slots.get(slot));
    return found;
  }

  /** Takes what the engine heard. */
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
