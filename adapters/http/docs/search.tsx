import { render } from 'preact-render-to-string';
import type { Html } from '../web/prose.js';
import { findEntries, type Entry } from './find.js';
import type { DocsPage } from './page.js';
import { searchPath } from './places.js';

const named: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };

/** The words of a part, without its samples and forms. */
const wordsOf = (part: Html): string =>
  render(<>{part}</>)
    .replaceAll(/<(pre|form|details class="try").*?<\/(pre|form|details)>/gs, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&\w+;/g, (entity) => named[entity] ?? ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** So much of a part is searched: the first words say what it is about. */
const searched = 240;

/** What search knows of a page: it and its parts, or, of a page about one thing, it with its words. */
const entriesIn = ({ path, title, about, parts, shape }: DocsPage): readonly Entry[] =>
  shape === 'plain'
    ? [
        {
          path,
          title,
          page: about,
          text: parts
            .map(({ body }) => wordsOf(body))
            .join(' ')
            .slice(0, searched),
        },
      ]
    : [
        { path, title, page: '', text: about },
        ...parts.map((part) => ({
          path: `${path}#${part.id}`,
          title: part.title,
          page: title,
          text: wordsOf(part.body).slice(0, searched),
        })),
      ];

/** What search knows of the pages. */
export const entriesOf = (pages: readonly DocsPage[]): readonly Entry[] => pages.flatMap(entriesIn);

const most = 30;

/** What was found, for browsers without scripts and for everybody who presses Enter. */
export const searchPage = (entries: readonly Entry[], query: string): DocsPage => {
  const found = findEntries(entries, query, most);
  return {
    path: searchPath,
    title: 'Search',
    about:
      query.trim() === ''
        ? 'Type a word into the field above: an operation, a field, an error code.'
        : `${found.length === most ? 'The first ' : ''}${found.length} for “${query}”`,
    for: 'customers',
    shape: 'plain',
    lead:
      found.length === 0 ? null : (
        <ol class="results">
          {found.map(({ path, title, page, text }) => (
            <li>
              <a href={path}>{title}</a> <span class="quiet">{page}</span>
              <p>{text.slice(0, 160)}</p>
            </li>
          ))}
        </ol>
      ),
    parts: [],
  };
};
