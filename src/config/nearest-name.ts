/** Finds the most similar known name, for "did you mean". */

/** Largest share of mistyped characters for which a name is suggested. */
const MISTYPED_SHARE_MAX = 0.34;

/**
 * Returns the candidate with the smallest edit distance to `name`, or one that begins or ends with it (`tls-cert` for
 * `http.tls-cert`, `data-key` for `data-key-file`). Returns `undefined` if no candidate is similar.
 */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length * MISTYPED_SHARE_MAX)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  if (best !== undefined || wanted.length < 3) return best;
  return candidates.find((candidate) => {
    const lower = candidate.toLowerCase();
    return lower.endsWith(wanted) || lower.startsWith(wanted);
  });
}

/** Returns the suggestion to append to an error, or an empty text. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

/** Returns the Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substitution, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
