/**
 * A budget: how much of a resource all requests together, and each of its users alone, may hold at a time. Resources are
 * bytes of unfinished bodies, connections, waiting queries, and so on.
 *
 * - The total bounds everybody. A reserve is the part of the total that only privileged claims may use.
 * - A share bounds each key of one kind, such as an address or a token. A claim names its key in each share that
 *   applies to it.
 * - A claim is granted as a whole or refused as a whole. A refused claim takes nothing.
 *
 * A budget remembers only keys that hold something, so the total bounds its memory.
 */
import type { Measured } from './measured.ts';

export interface BudgetLimits<Share extends string = never> {
  /** In units of the resource. */
  readonly total: number;
  /** The part of `total` that only privileged claims may use. Default: 0. */
  readonly reserve?: number;
  /** Limit of each key, by share. */
  readonly shares: Readonly<Record<Share, number>>;
}

export interface Claim<Share extends string = never> {
  /** In units of the resource. Default: 1. */
  readonly amount?: number;
  /** The key in each share. A share without a key does not bound the claim. */
  readonly keys: Readonly<Partial<Record<Share, string | undefined>>>;
  /** Whether the claim may use the reserve. Default: false. */
  readonly privileged?: boolean;
}

export interface Budget<Share extends string = never> extends Measured {
  readonly limits: BudgetLimits<Share>;
  /** The amount in use. */
  readonly used: number;
  /** Takes a claim. @returns the bound that refuses it, or `undefined` if it was granted */
  take(claim: Claim<Share>): 'total' | Share | undefined;
  /** Returns the amount of a granted claim, under the same keys. */
  release(claim: Claim<Share>): void;
}

/** Creates a budget. Reads `limits` for each claim, so the owner may change them. @param name label of its metrics */
export function createBudget<Share extends string = never>(name: string, limits: BudgetLimits<Share>): Budget<Share> {
  const shareNames = Object.keys(limits.shares) as Share[];
  const usedByShare = shareNames.map((share) => ({ share, byKey: new Map<string, number>() }));
  const refused = new Map<string, number>(['total', ...shareNames].map((bound) => [bound, 0]));
  let used = 0;

  function boundOf({ amount = 1, keys, privileged = false }: Claim<Share>): 'total' | Share | undefined {
    for (const { share, byKey } of usedByShare) {
      const key = keys[share];
      if (key !== undefined && (byKey.get(key) ?? 0) + amount > limits.shares[share]) return share;
    }
    const available = privileged ? limits.total : limits.total - (limits.reserve ?? 0);
    return used + amount > available ? 'total' : undefined;
  }

  function add(keys: Claim<Share>['keys'], amount: number): void {
    used += amount;
    for (const { share, byKey } of usedByShare) {
      const key = keys[share];
      if (key === undefined) continue;
      const now = (byKey.get(key) ?? 0) + amount;
      if (now === 0) byKey.delete(key);
      else byKey.set(key, now);
    }
  }

  return {
    name,
    limits,
    refused,
    get used() {
      return used;
    },
    take(claim) {
      const bound = boundOf(claim);
      if (bound === undefined) add(claim.keys, claim.amount ?? 1);
      else refused.set(bound, (refused.get(bound) ?? 0) + 1);
      return bound;
    },
    release({ amount = 1, keys }) {
      add(keys, -amount);
    },
    measure: () => [
      { bound: 'total', used, max: limits.total },
      ...usedByShare.map(({ share, byKey }) => ({
        bound: share,
        used: byKey.values().reduce((largest, amount) => Math.max(largest, amount), 0),
        max: limits.shares[share],
      })),
    ],
  };
}
