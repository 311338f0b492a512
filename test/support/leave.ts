/**
 * Ends a test process that has emptied its loop. Node's own freeing of handles, which comes after everything else, can
 * spin for ever where a connection was cut (seen with 26.10); what a test left open still keeps the process alive.
 */
process.once('beforeExit', () => {
  // Registered last, so that whoever reports at the end has done so.
  process.on('exit', (code) => process.exit(code));
});
