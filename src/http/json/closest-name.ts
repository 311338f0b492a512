/** Finds the name that a misspelled one most likely means, for "did you mean" messages. */

/** Shorter names would be a prefix or suffix of too many candidates. */
const AFFIX_LENGTH_MIN = 3;

/** Longer names are unlikely to be typos, and comparing them would let a client consume CPU. */
const COMPARED_LENGTH_MAX = 64;

/** Returns the candidate that differs in at most a third of the letters, or else one that starts or ends with `name`. */
export function closestName(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = levenshteinDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best ?? candidates.find((candidate) => isAffix(wanted, candidate.toLowerCase()));
}

function isAffix(wanted: string, candidate: string): boolean {
  return wanted.length >= AFFIX_LENGTH_MIN && (candidate.startsWith(wanted) || candidate.endsWith(wanted));
}

function levenshteinDistance(a: string, b: string): number {
  if (a.length > COMPARED_LENGTH_MAX) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
