/** Finds the name that was probably meant, for "did you mean". */

/** Share of a name that may be mistyped before a suggestion would be a guess. */
const MISTYPED_SHARE_MAX = 0.34;

/**
 * The candidate nearest to `name`: the same but for a few letters, else one that ends or begins with it
 * (`tls-cert` for `http.tls-cert`, `data-key` for `data-key-file`); `undefined` when none is near.
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

/** The sentence to append to an error, empty when nothing is near. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

/** Levenshtein's distance, one row at a time. */
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
