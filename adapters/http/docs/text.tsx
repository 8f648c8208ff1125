import { Table } from '../web/parts.js';
import type { Html } from '../web/prose.js';

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

/** Paragraphs; the ones that begin with a hyphen are items of a list. */
export const text = (...blocks: readonly string[]): Html => {
  const shown: Html[] = [];
  let items: string[] = [];
  const close = (): void => {
    const list = items;
    items = [];
    if (list.length > 0)
      shown.push(
        <ul>
          {list.map((item) => (
            <li>{line(item)}</li>
          ))}
        </ul>,
      );
  };
  for (const block of blocks)
    if (block.startsWith('- ')) items.push(block.slice(2));
    else {
      close();
      shown.push(<p>{line(block)}</p>);
    }
  close();
  return shown;
};

/** A table of sentences. The first cell of a row names its subject. */
export const grid = (label: string, names: readonly string[], rows: readonly (readonly string[])[]): Html => (
  <Table
    label={`${label}: table`}
    columns={names.map((name, at) => ({
      name,
      cell: (row: readonly string[]) => line(row[at] ?? ''),
      ...(at === 0 && { kind: 'head' as const }),
    }))}
    rows={rows}
  />
);

/** Something that a reader must not miss. */
export const note = (sentence: string): Html => <p class="note">{line(sentence)}</p>;
