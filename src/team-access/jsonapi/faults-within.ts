/** Faults in documents that have many resources: told of the place of each, and of all of them at once. */
import { FAULTS_MAX } from '../limits.ts';
import { type Fault, JsonApiError, throwFaults } from './errors.ts';

/** Where a fault stands in the whole, by where it stands in its part; `undefined`: it is of the part as a whole. */
export type Place = (pointer: string | undefined) => string;

/** Runs `check` on a part of a document; what it refuses is told of the part's place. @throws JsonApiError */
export function within<T>(place: Place, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof JsonApiError)) throw error;
    const [first, ...rest] = error.faults.map((fault): Fault => ({ ...fault, pointer: place(fault.pointer) }));
    throw first === undefined ? error : new JsonApiError([first, ...rest], error.headers);
  }
}

/** What `check` makes of each part; the faults of all of them at once. @throws JsonApiError */
export function checkEach<Part, T>(parts: readonly Part[], check: (part: Part, position: number) => T): T[] {
  const checked: T[] = [];
  const faults: Fault[] = [];
  for (const [position, part] of parts.entries()) {
    try {
      checked.push(check(part, position));
    } catch (error) {
      if (!(error instanceof JsonApiError)) throw error;
      faults.push(...error.faults);
      // Nobody reads on, and a document can have very many.
      if (faults.length >= FAULTS_MAX) break;
    }
  }
  throwFaults(faults);
  return checked;
}
