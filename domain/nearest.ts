/** Longer names are compared with nothing: the time grows with the product of two lengths. */
const maxCompared = 40;

/** A name as it is compared: case and punctuation are ignored. */
const folded = (name: string): string => name.toLowerCase().replace(/[\s_.:-]+/gu, '');

/**
 * How many characters have to be inserted, deleted, replaced or swapped with their neighbour to get from one
 * text to the other.
 */
export const distance = (a: string, b: string): number => {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
};

/**
 * The distance of two names; null if they are unrelated. At most a third of the longer one may be mistyped. A
 * prefix of the other name ranks last.
 */
const apart = (name: string, other: string): number | null => {
  if (name.length > maxCompared || other.length > maxCompared) return null;
  const [a, b] = [folded(name), folded(other)];
  const allowed = Math.floor(Math.max(a.length, b.length) / 3);
  const changes = Math.abs(a.length - b.length) > allowed ? Infinity : distance(a, b);
  if (changes <= allowed) return changes;
  const isBeginning = Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));
  return isBeginning ? Math.max(a.length, b.length) : null;
};

/** The candidate whose two texts are nearest to each other, the first of several; null if none are near. */
export const nearestOf = <T>(
  candidates: Iterable<T>,
  textsOf: (candidate: T) => readonly [string, string],
): T | null => {
  let best: T | null = null;
  let least = Infinity;
  for (const candidate of candidates) {
    const changes = apart(...textsOf(candidate));
    if (changes === null || changes >= least) continue;
    best = candidate;
    least = changes;
  }
  return best;
};

/** The known name that was probably meant. (decision 66: a refusal of a name proposes another) */
export const nearest = (name: string, known: Iterable<string>): string | null =>
  nearestOf(known, (candidate) => [name, candidate]);
