/** Resolves in the next turn of the event loop, after all pending I/O callbacks. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
