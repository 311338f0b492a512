/** Counts waiting queries, all together and by token, and refuses those beyond a limit. */
import { ServiceError } from '../errors.ts';

export class HeldCount {
  readonly #max: number;
  readonly #perKeyMax: number;
  readonly #byKey = new Map<string, number>();
  #total = 0;

  /** `max` is `limits.waiting`, `perKeyMax` is `limits.waiting-per-token`. */
  constructor(max: number, perKeyMax: number) {
    this.#max = max;
    this.#perKeyMax = perKeyMax;
  }

  /** Counts one more. @throws ServiceError `rate-limited`: nothing was counted */
  add(key: string | undefined): void {
    if (this.#total >= this.#max) {
      throw new ServiceError('rate-limited', `${this.#max} queries are waiting already (limits.waiting)`);
    }
    if (key !== undefined) {
      const ofKey = this.#byKey.get(key) ?? 0;
      if (ofKey >= this.#perKeyMax) {
        throw new ServiceError(
          'rate-limited',
          `${this.#perKeyMax} queries are waiting with this token already (limits.waiting-per-token)`,
        );
      }
      this.#byKey.set(key, ofKey + 1);
    }
    this.#total += 1;
  }

  /** Counts one less. */
  remove(key: string | undefined): void {
    this.#total -= 1;
    if (key === undefined) return;
    const ofKey = this.#byKey.get(key) ?? 0;
    if (ofKey <= 1) this.#byKey.delete(key);
    else this.#byKey.set(key, ofKey - 1);
  }
}
