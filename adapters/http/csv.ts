/** A spreadsheet would take a text that begins like this for a formula. */
const likeFormula = /^[=+\-@\t\r]/;

const cellOf = (value: unknown): string => {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return '';
  const text = likeFormula.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** A table as CSV (RFC 4180), with a head. Only texts and numbers are shown. */
export const csvOf = (
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string =>
  [columns, ...rows.map((row) => columns.map((column) => cellOf(row[column])))]
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('');
