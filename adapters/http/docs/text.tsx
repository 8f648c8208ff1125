import { Table } from '../web/parts.js';
import type { Html } from '../web/prose.js';
import type { Part } from './page.js';
import type { Place } from './places.js';

const marks = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

/** Whether a link leads to a page that is served: links of the changelog lead into the repository. */
const isServed = (address: string): boolean => /^[/#]/.test(address);

/** A sentence with `code`, **weight** and [links](/docs). */
export const line = (sentence: string): Html => {
  const parts: Html[] = [];
  let at = 0;
  for (const match of sentence.matchAll(marks)) {
    const [all, code, strong, link, address = ''] = match;
    parts.push(sentence.slice(at, match.index));
    if (code !== undefined) parts.push(<code>{code}</code>);
    else if (strong !== undefined) parts.push(<strong>{line(strong)}</strong>);
    else parts.push(isServed(address) ? <a href={address}>{line(link ?? '')}</a> : line(link ?? ''));
    at = match.index + all.length;
  }
  return [...parts, sentence.slice(at)];
};

/** Paragraphs, of which the ones that begin with a hyphen are items of a list, and elements between them. */
export const text = (...blocks: readonly Html[]): Html => {
  const shown: Html[] = [];
  let items: Html[] = [];
  for (const block of [...blocks, null])
    if (typeof block === 'string' && block.startsWith('- ')) items.push(<li>{line(block.slice(2))}</li>);
    else {
      if (items.length > 0) shown.push(<ul>{items}</ul>);
      items = [];
      shown.push(typeof block === 'string' ? <p>{line(block)}</p> : block);
    }
  return shown;
};

/** A part of a page, with its text. */
export const part = (id: string, title: string, ...blocks: readonly Html[]): Part => ({
  id,
  title,
  body: text(...blocks),
});

/** Rows about words of the API: each with its meanings. */
export const rowsAbout = (
  meanings: Readonly<Record<string, string | readonly string[]>>,
): readonly (readonly string[])[] =>
  Object.entries(meanings).map(([word, means]) => [`\`${word}\``, ...[means].flat()]);

/** A table of sentences. The first cell of a row names its subject. */
export const grid = (label: string, names: readonly string[], rows: readonly (readonly string[])[]): Html => (
  <Table
    label={`${label}: table`}
    columns={Object.fromEntries(
      names.map((name, at) => [name, (row: readonly string[]) => line(row[at] ?? '')]),
    )}
    rows={rows}
  />
);

/** Links to pages, each with its summary, and what stands below it. */
export const tiles = <P extends Place>(pages: readonly P[], below: (page: P) => Html = () => null): Html => (
  <ul class="tiles">
    {pages.map((page) => (
      <li>
        <a href={page.path}>{page.title}</a>
        <p>{page.about}</p>
        {below(page)}
      </li>
    ))}
  </ul>
);

/** Something that a reader must not miss. */
export const note = (sentence: string): Html => <p class="note">{line(sentence)}</p>;
