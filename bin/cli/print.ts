import { isPlainObject } from '../../domain/plain-object.js';

type Fields = Readonly<Record<string, unknown>>;

/** Text of clients must not steer the operator's terminal. */
const plain = (text: string): string =>
  text.replaceAll(/\p{Cc}/gu, (character) => (character === '\n' ? ' ↵ ' : '\ufffd'));

/**
 * A value in one line. Of an object what is null is left out; of a list of objects the last stands for all.
 */
const inLine = (value: unknown): string => {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) {
    const entries: readonly unknown[] = value;
    if (entries.length === 0) return '[]';
    return isPlainObject(entries[0])
      ? `${entries.length}: ${inLine(entries.at(-1))}`
      : entries.map(inLine).join(', ');
  }
  if (typeof value === 'string') return plain(value);
  if (!isPlainObject(value)) return JSON.stringify(value);
  const known = Object.entries(value).filter(([, inside]) => inside !== null);
  return (
    known
      .map(([name, inside]) => `${name}: ${isPlainObject(inside) ? `(${inLine(inside)})` : inLine(inside)}`)
      .join(', ') || '–'
  );
};

const widest = 60;
const cut = (text: string): string => (text.length > widest ? `${text.slice(0, widest - 1)}…` : text);

const table = (rows: readonly Fields[]): string => {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (column) => column !== 'object',
  );
  const lines = [columns, ...rows.map((row) => columns.map((column) => cut(inLine(row[column]))))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, index) => text.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

/** The rows, where the value is a list of objects. */
const rowsIn = (value: unknown): readonly Fields[] | null => {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  return entries.length > 0 && entries.every(isPlainObject) ? entries : null;
};

const lines = (fields: Fields): string => {
  const names = Object.keys(fields).filter((name) => name !== 'object');
  const width = Math.max(0, ...names.map((name) => name.length));
  return names
    .map((name) => {
      const rows = rowsIn(fields[name]);
      return rows === null
        ? `${name.padEnd(width)}  ${inLine(fields[name])}`
        : `${name}\n${table(rows).replaceAll(/^/gm, '  ')}`;
    })
    .join('\n');
};

/** An answer of the API for people: a list as a table, anything else field by field. */
export const readable = (text: string): string => {
  if (text === '') return 'Done.';
  const answer: unknown = JSON.parse(text);
  if (!isPlainObject(answer)) return text;
  if (answer['object'] !== 'list' || !Array.isArray(answer['data'])) return lines(answer);
  const rows: readonly unknown[] = answer['data'];
  const more =
    typeof answer['next_cursor'] === 'string' ? `\nMore: --starting-after ${answer['next_cursor']}` : '';
  return rows.length === 0 ? 'Nothing.' : `${table(rows.filter(isPlainObject))}${more}`;
};
