/**
 * A spreadsheet may take a text that begins like this for a formula: a sign in one of its widths, or anything
 * that it trims or that can't be seen. (owasp.org/www-community/attacks/CSV_Injection)
 */
const likeFormula = /^[=+\-@\u2212＝＋－＠﹦﹢﹣﹫\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** One that separates cells by another character than ours begins a cell there, within quotes, too. */
const laterFormula =
  /(?<=[;\t\r\n]["\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]{0,9})[=+\-@\u2212＝＋－＠﹦﹢﹣﹫]/gu;

const cellOf = (value: unknown): string => {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return '';
  const text = (likeFormula.test(value) ? `'${value}` : value).replaceAll(laterFormula, "'$&");
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Rows of a table as CSV (RFC 4180), without a head. Only texts and numbers are shown. */
export const csvRows = (
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string => rows.map((row) => `${columns.map((column) => cellOf(row[column])).join(',')}\r\n`).join('');

/** A table as CSV, with a head. */
export const csvOf = (
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string => csvRows(columns, [Object.fromEntries(columns.map((name) => [name, name])), ...rows]);
