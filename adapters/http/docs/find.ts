/** A place of the documentation as search knows it. */
export interface Entry {
  readonly path: string;
  /** What a reader sees: the heading, and the page that it is on. */
  readonly title: string;
  readonly page: string;
  /** The text below the heading, for matching. */
  readonly text: string;
}

/** The places that hold every word of a query, best first. Served to browsers, too, so it imports nothing. */
export const findEntries = (entries: readonly Entry[], query: string, most: number): readonly Entry[] => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const points = ({ title, page, text }: Entry): number => {
    const [heading, around, below] = [title.toLowerCase(), page.toLowerCase(), text.toLowerCase()];
    let sum = heading === words.join(' ') ? 100 : 0;
    for (const word of words) {
      const found =
        (heading.split(/[\s/]+/).includes(word) ? 12 : heading.includes(word) ? 8 : 0) +
        (around.includes(word) ? 3 : 0) +
        (below.includes(word) ? 1 : 0);
      if (found === 0) return 0;
      sum += found;
    }
    return sum;
  };
  return entries
    .map((entry, at) => ({ entry, at, sum: points(entry) }))
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.sum - a.sum || a.at - b.at)
    .slice(0, most)
    .map(({ entry }) => entry);
};
