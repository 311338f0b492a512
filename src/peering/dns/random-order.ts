/** The items in random order, one at a time: who needs a few of many pays for few. @param random numbers from 0 up to 1 */
export function* inRandomOrder<T>(items: readonly T[], random: () => number): Generator<T> {
  const left = [...items];
  while (left.length > 0) {
    const at = Math.floor(random() * left.length);
    const last = left.pop() as T; // not empty
    if (at === left.length) {
      yield last;
    } else {
      yield left[at] as T; // below the length
      left[at] = last;
    }
  }
}
