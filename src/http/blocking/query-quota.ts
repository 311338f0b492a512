/** The limits of waiting queries: `limits.waiting` in total, and `limits.waiting-per-token`. [SRV-58] */
import { ServiceError } from '../errors.ts';

export class QueryQuota {
  readonly #max: number;
  readonly #perKeyMax: number;
  readonly #byKey = new Map<string, number>();
  #total = 0;

  constructor(max: number, perKeyMax: number) {
    this.#max = max;
    this.#perKeyMax = perKeyMax;
  }

  /** Counts a query. @throws ServiceError `rate-limited` if a limit is reached; the query is then not counted */
  acquire(key: string | undefined): void {
    if (this.#total >= this.#max) {
      throw new ServiceError('rate-limited', `${this.#max} queries are waiting already (limits.waiting)`);
    }
    if (key !== undefined) {
      const count = this.#byKey.get(key) ?? 0;
      if (count >= this.#perKeyMax) {
        throw new ServiceError(
          'rate-limited',
          `${this.#perKeyMax} queries are waiting with this token already (limits.waiting-per-token)`,
        );
      }
      this.#byKey.set(key, count + 1);
    }
    this.#total += 1;
  }

  release(key: string | undefined): void {
    this.#total -= 1;
    if (key === undefined) return;
    const count = this.#byKey.get(key) ?? 0;
    if (count <= 1) this.#byKey.delete(key);
    else this.#byKey.set(key, count - 1);
  }
}
