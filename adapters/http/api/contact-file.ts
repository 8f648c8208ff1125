import type { FileRow } from '../../../application/contacts/import-contacts.js';
import { stateNamed } from '../../../domain/recipient.js';
import { readColumns, type Columns, type FileOptions } from './contact-columns.js';
import { csvRows, UnreadableFile } from './csv-rows.js';

type Texts = Readonly<Record<string, string>>;

/** `5/6/1987` and `--05-06` as the API takes them; `0/0/00`, as Outlook writes none, is empty. */
const dayIn = (text: string): string => {
  const [, month = '', day = '', year = ''] = /^(\d\d?)\/(\d\d?)(?:\/(\d\d(?:\d\d)?))?$/.exec(text) ?? [];
  if (month === '') return text.replace(/^--/, '').replace(/[ T].*$/, '');
  if (Number(month) === 0) return '';
  const date = `${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return year.length === 4 ? `${year}-${date}` : date;
};

/** How exporters write a field, as the API takes it. */
const readings: Readonly<Record<string, (text: string) => string>> = {
  state: (text) => stateNamed(text) ?? text,
  country: (text) =>
    /^(?:u\.s\.(?:a\.)?|united states of america)$/i.test(text) ? 'US' : (stateNamed(text) ?? text),
  birthday: dayIn,
  work_anniversary: dayIn,
};

/** Without the apostrophe that keeps digits text in a spreadsheet, and of several values the first. */
const textIn = (field: string, cell = ''): string => {
  const text = cell.trim().replaceAll(/^'(?=[\d+])| ::: .*$/g, '');
  return readings[field]?.(text) ?? text;
};

/** A street on several lines goes on in `line2`. */
const inLines = (address: Texts): Texts => {
  const [line1 = '', ...more] = address['line1']?.split(/\s*[\r\n]+\s*/) ?? [];
  if (more.length === 0) return address;
  return { ...address, line1, line2: [...more, address['line2'] ?? []].flat().join(', ') };
};

/** The contact of a row, or why it has none. */
const contactIn = ({ columns, width }: Columns, cells: readonly string[]) => {
  if (cells.slice(width).some((cell) => cell.trim() !== ''))
    return { problem: `it has ${cells.length} cells, but the header has ${width}` };
  const contact: Record<string, string> = {};
  const addresses = new Map<string, Record<string, string>>();
  for (const { index, field, address } of columns) {
    const text = textIn(field, cells[index]);
    if (text === '') continue;
    const parts = address === null ? contact : (addresses.get(address) ?? {});
    parts[field] = text;
    if (address !== null) addresses.set(address, parts);
  }
  const { external_id: externalId } = contact;
  if (externalId === undefined) return { problem: 'it has no external_id' };
  const filled = [...addresses.values()];
  const address = filled.find(({ line1 }) => line1 !== undefined) ?? filled[0];
  return { externalId, contact: address === undefined ? contact : { ...contact, address: inLines(address) } };
};

/**
 * Yields the rows of a CSV file in order, from pieces of its bytes, without reading the whole file first.
 * Throws UnreadableFile, and the errors of the pieces.
 */
export async function* contactRows(
  pieces: AsyncIterable<Buffer>,
  options: FileOptions,
): AsyncGenerator<FileRow, void, undefined> {
  let columns: Columns | null = null;
  for await (const { line, bytes, ...row } of csvRows(pieces)) {
    if (columns === null) {
      if ('problem' in row)
        throw new UnreadableFile(`The names of the columns can't be read: ${row.problem}.`);
      columns = readColumns(row.cells, options);
    } else if (line >= options.fromLine)
      yield { line, bytes, ...('problem' in row ? row : contactIn(columns, row.cells)) };
  }
  if (columns === null) throw new UnreadableFile('The file is empty: its first line must name the columns.');
}
