/**
 * The indexes that a cluster has told for one path, whichever of its servers was asked. A client that waits passes them
 * back, so an index that goes back makes it wait for what it has seen, or read everything again.
 */
export interface Indexes {
  /** A request begins. @returns takes the index of its answer; tells the higher one that an earlier answer had */
  begin(cluster: string, path: string): (index: number) => number | undefined;
}

/** Knows as many numbers as there are clusters and paths. */
export function createIndexes(): Indexes {
  const highest = new Map<string, number>();
  return {
    begin(cluster, path) {
      const key = `${cluster} ${path}`;
      // What is told to others meanwhile may be newer than this answer.
      const floor = highest.get(key) ?? 0;
      return (index) => {
        highest.set(key, Math.max(highest.get(key) ?? 0, index));
        return index < floor ? floor : undefined;
      };
    },
  };
}
