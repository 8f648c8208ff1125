/** A place of the documentation as search knows it. */
export interface Entry {
  readonly path: string;
  /** The visible title: the heading, and the page that it is on. */
  readonly title: string;
  readonly page: string;
  /** The text below the heading, for matching. */
  readonly text: string;
}

/** The prefix of operators' pages in search results. */
export const operatorsPages = 'Operators';

/** A whole word ranks above its beginning, and that above a part of it. */
const inHeading = (heading: string, word: string): number => {
  if (!heading.includes(word)) return 0;
  const words = heading.split(/[^\p{L}\p{N}_.-]+/u);
  if (words.includes(word)) return 12;
  return words.some((each) => each.startsWith(word)) ? 10 : 6;
};

/** More words of a query than these are not looked for. */
const maxWords = 8;

/** The places that hold every word of a query, best first. Served to browsers, too, so it imports nothing. */
export const findEntries = (
  entries: readonly Entry[],
  query: string,
  maxEntries: number,
): readonly Entry[] => {
  const words = [...new Set(query.toLowerCase().split(/\s+/).filter(Boolean))].slice(0, maxWords);
  if (words.length === 0) return [];
  const points = ({ title, page, text }: Entry): number => {
    const [heading, around, below] = [title.toLowerCase(), page.toLowerCase(), text.toLowerCase()];
    // A page comes before its parts.
    let sum = (heading === words.join(' ') ? 100 : 0) + (page === '' ? 4 : 0);
    for (const word of words) {
      const found =
        inHeading(heading, word) + (around.includes(word) ? 3 : 0) + (below.includes(word) ? 1 : 0);
      if (found === 0) return 0;
      sum += found;
    }
    // Most readers are customers.
    return page.startsWith(operatorsPages) ? sum / 2 : sum;
  };
  return entries
    .map((entry) => ({ entry, sum: points(entry) }))
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.sum - a.sum)
    .slice(0, maxEntries)
    .map(({ entry }) => entry);
};
