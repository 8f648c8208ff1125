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

/** An entry with the words in which a query is looked for. */
export interface Indexed {
  readonly entry: Entry;
  readonly heading: string;
  readonly headingWords: readonly string[];
  readonly around: string;
  readonly below: string;
}

/** Entries as they are searched: this is done once, a search with every key that is pressed. */
export const indexed = (entries: readonly Entry[]): readonly Indexed[] =>
  entries.map((entry) => {
    const heading = entry.title.toLowerCase();
    return {
      entry,
      heading,
      headingWords: heading.split(/[^\p{L}\p{N}_.-]+/u),
      around: entry.page.toLowerCase(),
      below: entry.text.toLowerCase(),
    };
  });

/** A whole word ranks above its beginning, and that above a part of it. */
const inHeading = ({ heading, headingWords }: Indexed, word: string): number => {
  if (headingWords.includes(word)) return 12;
  if (headingWords.some((each) => each.startsWith(word))) return 10;
  return heading.includes(word) ? 6 : 0;
};

/** More words of a query than these are not looked for. */
const maxWords = 8;

/** The places that hold every word of a query, best first. Served to browsers, too, so it imports nothing. */
export const findEntries = (
  entries: readonly Indexed[],
  query: string,
  maxEntries: number,
): readonly Entry[] => {
  const words = [...new Set(query.toLowerCase().split(/\s+/).filter(Boolean))].slice(0, maxWords);
  if (words.length === 0) return [];
  const points = (place: Indexed): number => {
    const { heading, around, below, entry } = place;
    // A page comes before its parts.
    let sum = (heading === words.join(' ') ? 100 : 0) + (entry.page === '' ? 4 : 0);
    for (const word of words) {
      const found = inHeading(place, word) + (around.includes(word) ? 3 : 0) + (below.includes(word) ? 1 : 0);
      if (found === 0) return 0;
      sum += found;
    }
    // Most readers are customers.
    return entry.page.startsWith(operatorsPages) ? sum / 2 : sum;
  };
  return entries
    .map((place, at) => ({ entry: place.entry, at, sum: points(place) }))
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.sum - a.sum || a.at - b.at)
    .slice(0, maxEntries)
    .map(({ entry }) => entry);
};
