import { findEntries, operatorsPages, type Entry } from './find.js';
import { wordsIn } from './markdown.js';
import { type Context, type DocsPage, type Part } from './page.js';
import { searchPath } from './places.js';

const wordsOf = ({ words, body }: Part): string => words ?? wordsIn(body);

/** How much of a part is searched: the first words state the subject. */
const searched = 240;

/** The search entries of a page: it and its parts, or, of a page about one thing, it with its words. */
const entriesIn = ({ path, title, about, parts, shape, for: audience }: DocsPage): readonly Entry[] =>
  shape === 'plain'
    ? [
        {
          path,
          title,
          page: about,
          text: parts.map(wordsOf).join(' ').slice(0, searched),
        },
      ]
    : [
        { path, title, page: audience === 'operators' ? operatorsPages : '', text: about },
        ...parts.map((part) => ({
          path: `${path}#${part.id}`,
          title: part.title,
          page: audience === 'operators' ? `${operatorsPages}: ${title}` : title,
          text: wordsOf(part).slice(0, searched),
        })),
      ];

/** Makes the search entries of all pages, and gives way to requests meanwhile. */
export const entriesOf = async (pages: readonly (() => DocsPage)[]): Promise<readonly Entry[]> => {
  const entries: Entry[] = [];
  for (const page of pages) {
    entries.push(...entriesIn(page()));
    await new Promise((done) => setImmediate(done));
  }
  return entries;
};

const maxResults = 30;

/** The first words of a text. */
const excerptOf = (text: string): string =>
  text.length <= 160 ? text : `${text.slice(0, text.lastIndexOf(' ', 160))} …`;

/** Search results, for browsers without scripts and for pressing Enter. */
export const searchPage = (entries: readonly Entry[], query: string, context: Context): DocsPage => {
  const all = findEntries(entries, query, maxResults + 1);
  const found = all.slice(0, maxResults);
  return {
    path: searchPath,
    title: 'Search',
    about:
      query.trim() === ''
        ? 'Type a word into the field above: an operation, a field, an error code.'
        : `${all.length > maxResults ? 'The first ' : ''}${found.length} for “${query}”`,
    for: context.shared,
    shape: 'plain',
    lead:
      found.length === 0 ? null : (
        <ol class="results">
          {found.map(({ path, title, page, text }) => (
            <li>
              <a href={path}>{title}</a> <span class="quiet">{page}</span>
              <p>{excerptOf(text)}</p>
            </li>
          ))}
        </ol>
      ),
    parts: [],
  };
};
