/** Collects garbage on SIGUSR2. Preloaded into processes whose memory is measured. */

process.on('SIGUSR2', () => {
  collect();
  // The second collection frees objects that the first one finalized, such as TLS contexts.
  setImmediate(collect);
});

/** Collects as V8 does when memory is low, which also releases the young generation: tens of megabytes after load. */
function collect(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
