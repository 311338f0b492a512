/** Names of requests, to find them in the log: the caller's own where it is sane, else ours. */
import { REQUEST_ID_LENGTH_MAX } from '../limits.ts';

/** What goes into a header and a log line as it is. */
const SANE = new RegExp(`^[A-Za-z0-9_.:-]{1,${REQUEST_ID_LENGTH_MAX}}$`);

/**
 * Makes a function that takes the `X-Request-Id` of a request. A new id is `prefix`, which should differ between
 * processes, and a counter: a random number for each request would cost more than answering it.
 */
export function createRequestIds(prefix: string): (given: string | string[] | undefined) => string {
  let count = 0;
  return (given) => {
    if (typeof given === 'string' && SANE.test(given)) return given;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}
