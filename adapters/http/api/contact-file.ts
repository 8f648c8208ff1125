import type { FileRow } from '../../../application/contacts/import-contacts.js';
import { csvRows, UnreadableFile } from './csv-rows.js';

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

const contactIn = (
  columns: readonly (readonly string[])[],
  cells: readonly string[],
): { readonly externalId: string; readonly contact: Contact } | { readonly problem: string } => {
  if (cells.slice(columns.length).some((cell) => cell.trim() !== ''))
    return { problem: `it has ${cells.length} cells, but the header has ${columns.length}` };
  const contact = contactFrom(columns, cells);
  const externalId = contact['external_id'];
  return typeof externalId === 'string' ? { externalId, contact } : { problem: 'it has no external_id' };
};

/**
 * Yields the rows of a CSV file in order, from pieces of its bytes, without reading the whole file first.
 * Throws UnreadableFile, and the errors of the pieces.
 */
export async function* contactRows(
  pieces: AsyncIterable<Buffer>,
  options: FileOptions,
): AsyncGenerator<FileRow, void, undefined> {
  let columns: readonly (readonly string[])[] | null = null;
  for await (const { line, bytes, ...row } of csvRows(pieces)) {
    if (columns === null) {
      if ('problem' in row)
        throw new UnreadableFile(`The names of the columns can't be read: ${row.problem}.`);
      columns = columnsFrom(row.cells, options);
    } else if (line >= options.fromLine)
      yield { line, bytes, ...('problem' in row ? row : contactIn(columns, row.cells)) };
  }
  if (columns === null) throw new UnreadableFile('The file is empty: its first line must name the columns.');
}
