/**
 * Where V8 keeps new objects. It doubles that space whenever much of it survives, up to 2 × 16 MiB, and gives it back
 * late. Code that is being loaded survives as a whole, so a start alone would take all of it, which an idle server never
 * needs again; for load that follows it is worth having.
 */
import { setFlagsFromString } from 'node:v8';

/** The flag is looked up whenever the space could grow, so it counts from the moment that it is set. */
const growthFactor = (factor: number): void => setFlagsFromString(`--semi-space-growth-factor=${factor}`);

/** V8's own. */
const GROWING = 2;
const FIXED = 1;

/** Does what leaves much behind once, such as loading code, in the space that there is. Not for two at a time. */
export async function inSmallYoungGeneration<T>(action: () => Promise<T>): Promise<T> {
  growthFactor(FIXED);
  try {
    return await action();
  } finally {
    growthFactor(GROWING);
  }
}
