import { CsvError, parse } from 'csv-parse';
import { Readable } from 'node:stream';

import type { FileRow } from '../../../application/contacts/import-contacts.js';
import { turnAlone } from '../../../application/timing/next-turn.js';

/** The file, its header or its quoting can't be read. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

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
  /** How that is named, in words. */
  readonly keyIsNamed: string;
  /** Rows that begin before this line are skipped. */
  readonly fromLine: number;
}

const maxRecordBytes = 100 * 1024;
/** Empty cells and doubled quotes count nothing towards the bytes of a row: these do. */
const maxRowLength = 4 * maxRecordBytes;
const maxCells = 500;

const checkText = (decoder: TextDecoder, piece?: Buffer): void => {
  try {
    decoder.decode(piece, { stream: piece !== undefined });
  } catch {
    throw new UnreadableFile('The file is not in UTF-8. Save it as “CSV UTF-8”, and send that.');
  }
};

/** Parsed at once: some thousand rows. */
const sliceBytes = 4 * 1024;

/**
 * The same bytes in slices, between which the process does other work. `read`: how many of them the rows have
 * that were read. Throws UnreadableFile where they are no UTF-8, or a row does not end.
 */
async function* checked(
  pieces: AsyncIterable<Buffer>,
  read: () => number,
): AsyncGenerator<Buffer, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  for await (const piece of pieces) {
    checkText(decoder, piece);
    for (let at = 0; at < piece.length; at += sliceBytes) {
      const slice = piece.subarray(at, at + sliceBytes);
      bytes += slice.length;
      if (bytes - read() > maxRowLength)
        throw new UnreadableFile('A row, or what is empty before it, is longer than 400 KiB.');
      yield slice;
      await turnAlone();
    }
  }
  checkText(decoder);
}

/** The fields of each column: the key column is the external_id, and also the field that its name means. */
const columnsFrom = (
  headings: readonly string[],
  { key, keyIsNamed }: FileOptions,
): readonly (readonly string[])[] => {
  const columns = headings.map((heading) => {
    const own = fieldNamed(heading);
    if (key === undefined) return own === null ? [] : [own];
    const others = own === null || own === 'external_id' ? [] : [own];
    return heading.trim() === key ? ['external_id', ...others] : others;
  });
  const named = columns.flat();
  if (!named.includes('external_id'))
    throw new UnreadableFile(
      key === undefined
        ? `The file has no column external_id. Name the column that identifies a contact ${keyIsNamed}: without one, a second run would create duplicates.`
        : `The file has no column "${key}".`,
    );
  const repeated = named.find((field, index) => named.indexOf(field) !== index);
  if (repeated !== undefined) throw new UnreadableFile(`The file has two columns for ${repeated}.`);
  return columns;
};

type Cell = readonly [field: string, text: string];
type Contact = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

const contactFrom = (columns: readonly (readonly string[])[], cells: readonly string[]): Contact => {
  const filled = columns.flatMap((fieldsOfColumn, index): readonly Cell[] => {
    const cell = cells[index]?.trim() ?? '';
    return cell === '' ? [] : fieldsOfColumn.map((field) => [field, cell]);
  });
  const address = filled.filter(([name]) => addressFields.includes(name));
  const plain: Contact = Object.fromEntries(filled.filter(([name]) => !addressFields.includes(name)));
  return address.length === 0 ? plain : { ...plain, address: Object.fromEntries(address) };
};

const rowFrom = (
  columns: readonly (readonly string[])[],
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
  cells.reduce((sum, cell) => sum + (cell === '' ? 0 : (cell.match(what)?.length ?? 0)), 0);

/**
 * Yields the rows of a CSV file in order, from pieces of its bytes, without reading the whole file first.
 * Throws UnreadableFile, and the errors of the pieces.
 */
export async function* contactRows(
  pieces: AsyncIterable<Buffer>,
  options: FileOptions,
): AsyncGenerator<FileRow, void, undefined> {
  let columns: readonly (readonly string[])[] | null = null;
  // The parser counts a CRLF inside a cell as two lines.
  let extraLines = 0;
  let bytesRead = 0;
  const source = Readable.from(checked(pieces, () => bytesRead));
  const parser = source
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
      bytesRead = info.bytes;
      if (record.length > maxCells) throw new UnreadableFile(`A row has more than ${maxCells} cells.`);
      extraLines += count(record, /\r\n/g);
      const line = info.lines - extraLines - count(record, /\r\n|\r|\n/g);
      if (columns === null) {
        columns = columnsFrom(record, options);
        continue;
      }
      if (line >= options.fromLine) yield rowFrom(columns, record, line, info.bytes);
    }
  } catch (error) {
    if (error instanceof CsvError)
      throw new UnreadableFile(`The file can't be read any further: ${error.message}.`);
    throw error;
  } finally {
    source.destroy();
  }
  if (columns === null) throw new UnreadableFile('The file is empty: its first line must name the columns.');
}
