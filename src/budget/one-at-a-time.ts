/** Lets each key do one thing at a time. */

export interface OneAtATime {
  /** Begins something under a key. Its disposal ends it. @returns `undefined` if something under the key has not ended */
  begin(key: string): Disposable | undefined;
}

export function createOneAtATime(): OneAtATime {
  const running = new Set<string>();
  return {
    begin(key) {
      if (running.has(key)) return undefined;
      running.add(key);
      return { [Symbol.dispose]: () => void running.delete(key) };
    },
  };
}
