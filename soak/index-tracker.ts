/** Checks that the index of a path never decreases, whichever server of the cluster answers. */
export interface IndexTracker {
  /**
   * Registers the start of a request. The returned function records the index of its response. It returns the highest
   * index of an earlier response if that is higher, and undefined otherwise.
   */
  begin(cluster: string, path: string): (index: number) => number | undefined;
}

/** Creates a tracker. It keeps one number per cluster and path. */
export function createIndexTracker(): IndexTracker {
  const highest = new Map<string, number>();
  return {
    begin(cluster, path) {
      const key = `${cluster} ${path}`;
      // A response that arrives while this request is in flight may be newer.
      const floor = highest.get(key) ?? 0;
      return (index) => {
        highest.set(key, Math.max(highest.get(key) ?? 0, index));
        return index < floor ? floor : undefined;
      };
    },
  };
}
