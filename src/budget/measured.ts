/** The figures of a budget or a rate in metrics. */
export interface Bound {
  /** `total`, or the name of a share. */
  readonly bound: string;
  /** The amount in use; for a share, the largest of all keys. Absent for a rate. */
  readonly used?: number;
  /** The limit; for a rate, per second. 0 means no limit. */
  readonly max: number;
}

export interface Measured {
  /** Label of the metrics. */
  readonly name: string;
  /** Number of refused claims, by the bound that refused them. */
  readonly refused: ReadonlyMap<string, number>;
  /** Returns every bound. Called for each scrape of the metrics. */
  measure(): readonly Bound[];
}
