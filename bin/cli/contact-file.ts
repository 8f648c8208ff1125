import { CsvError, parse } from 'csv-parse';
import { createReadStream } from 'node:fs';
import { WrongUsage } from './client.js';

/** One row of a file of contacts: the contact to send, or why there is none. */
export type FileRow = {
  /** The line on which the row begins; the header is line 1. */
  readonly line: number;
  /** How much of the file has been read. */
  readonly bytes: number;
} & ({ readonly externalId: string; readonly contact: object } | { readonly problem: string });

const fields = [
  'external_id',
  'name',
  'first_name',
  'last_name',
  'company',
  'job_title',
  'email',
  'phone',
  'birthday',
  'work_anniversary',
];
const addressFields = ['line1', 'line2', 'city', 'state', 'zip', 'country'];
const aliases: Readonly<Record<string, string>> = {
  address1: 'line1',
  address2: 'line2',
  postal_code: 'zip',
  id: 'external_id',
};

/**
 * The field that a column holds: `First Name` is `first_name`, `address.line1` is `line1`. Null if it is not
 * used.
 */
export const fieldNamed = (heading: string): string | null => {
  const plain = heading
    .trim()
    .toLowerCase()
    .replace(/^address\./, '')
    .replaceAll(/[\s-]+/g, '_');
  const name = aliases[plain] ?? plain;
  return fields.includes(name) || addressFields.includes(name) ? name : null;
};

export interface FileOptions {
  /** The column that holds the external_id, if it has another name. */
  readonly key: string | undefined;
  /** Rows that begin before this line are skipped. */
  readonly fromLine: number;
}

const maxRecordBytes = 100 * 1024;

const columnsFrom = (headings: readonly string[], { key }: FileOptions): readonly (string | null)[] => {
  const columns = headings.map((heading) =>
    key !== undefined && heading.trim() === key ? 'external_id' : fieldNamed(heading),
  );
  const kept = columns.map((column, index) =>
    column === 'external_id' && key !== undefined && headings[index]?.trim() !== key ? null : column,
  );
  if (!kept.includes('external_id'))
    throw new WrongUsage(
      key === undefined
        ? 'The file has no column external_id. Name the column that identifies a contact with --key: without one, a second run would create duplicates.'
        : `The file has no column "${key}".`,
    );
  const repeated = kept.find((column, index) => column !== null && kept.indexOf(column) !== index);
  if (repeated !== undefined) throw new WrongUsage(`The file has two columns for ${repeated}.`);
  return kept;
};

type Cell = readonly [field: string, text: string];
type Contact = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

const contactFrom = (columns: readonly (string | null)[], cells: readonly string[]): Contact => {
  const filled = columns.flatMap((column, index): readonly Cell[] => {
    const cell = cells[index]?.trim() ?? '';
    return column === null || cell === '' ? [] : [[column, cell]];
  });
  const address = filled.filter(([name]) => addressFields.includes(name));
  const plain: Contact = Object.fromEntries(filled.filter(([name]) => !addressFields.includes(name)));
  return address.length === 0 ? plain : { ...plain, address: Object.fromEntries(address) };
};

const rowFrom = (
  columns: readonly (string | null)[],
  cells: readonly string[],
  line: number,
  bytes: number,
): FileRow => {
  if (cells.length !== columns.length)
    return { line, bytes, problem: `it has ${cells.length} cells, but the header has ${columns.length}` };
  const contact = contactFrom(columns, cells);
  const externalId = contact['external_id'];
  if (typeof externalId !== 'string') return { line, bytes, problem: 'it has no external_id' };
  return { line, bytes, externalId, contact };
};

const count = (cells: readonly string[], what: RegExp): number =>
  cells.reduce((sum, cell) => sum + (cell.match(what)?.length ?? 0), 0);

const unreadable = (error: unknown): unknown => {
  if (error instanceof CsvError)
    return new WrongUsage(`The file can't be read any further: ${error.message}.`);
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    return new WrongUsage(`The file can't be read: ${error.message}`);
  return error;
};

/**
 * Yields the rows of a CSV file in order, without reading the whole file first. Throws WrongUsage if the
 * file, its header or its quoting can't be read.
 */
export async function* contactsIn(
  path: string,
  options: FileOptions,
): AsyncGenerator<FileRow, void, undefined> {
  let columns: readonly (string | null)[] | null = null;
  // The parser counts a CRLF inside a cell as two lines.
  let extraLines = 0;
  const parser = createReadStream(path)
    .on('error', (error) => parser.destroy(error))
    .pipe(
      parse({
        bom: true,
        info: true,
        relax_column_count: true,
        skip_empty_lines: true,
        max_record_size: maxRecordBytes,
      }),
    );
  try {
    for await (const piece of parser) {
      const { record, info } = piece as {
        readonly record: readonly string[];
        readonly info: { readonly lines: number; readonly bytes: number };
      };
      extraLines += count(record, /\r\n/g);
      const line = info.lines - extraLines - count(record, /\r\n|\r|\n/g);
      if (columns === null) {
        columns = columnsFrom(record, options);
        continue;
      }
      if (line >= options.fromLine) yield rowFrom(columns, record, line, info.bytes);
    }
  } catch (error) {
    throw unreadable(error);
  }
  if (columns === null) throw new WrongUsage('The file is empty: its first line must name the columns.');
}
