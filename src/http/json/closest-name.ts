/** Finds the name that was probably meant. */

/** The candidate that begins or ends with `name`, or differs in at most a third of its letters. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = distanceBetween(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best ?? candidates.find((candidate) => isPart(wanted, candidate.toLowerCase()));
}

/** Shorter pieces are part of too much. */
const PART_LENGTH_MIN = 3;

function isPart(wanted: string, candidate: string): boolean {
  return wanted.length >= PART_LENGTH_MIN && (candidate.startsWith(wanted) || candidate.endsWith(wanted));
}

/** Names longer than this are nobody's slip of the pen, and comparing them is work that a stranger could order. */
const COMPARED_LENGTH_MAX = 64;

/** Levenshtein's distance. */
function distanceBetween(a: string, b: string): number {
  if (a.length > COMPARED_LENGTH_MAX) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const exchanged = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(exchanged, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
