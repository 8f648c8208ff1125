type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const cell = (value: unknown): string => {
  if (value === null || value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const widest = 60;
const cut = (text: string): string => (text.length > widest ? `${text.slice(0, widest - 1)}…` : text);

const table = (rows: readonly Fields[]): string => {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((column) => column !== 'object');
  const lines = [columns, ...rows.map((row) => columns.map((column) => cut(cell(row[column]))))];
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

const lines = (fields: Fields): string => {
  const names = Object.keys(fields).filter((name) => name !== 'object');
  const width = Math.max(0, ...names.map((name) => name.length));
  return names.map((name) => `${name.padEnd(width)}  ${cell(fields[name])}`).join('\n');
};

/** An answer of the API for people: a list as a table, anything else field by field. */
export const readable = (text: string): string => {
  if (text === '') return 'Done.';
  const answer: unknown = JSON.parse(text);
  if (!isFields(answer)) return text;
  if (answer['object'] !== 'list' || !Array.isArray(answer['data'])) return lines(answer);
  const rows: readonly unknown[] = answer['data'];
  const more = typeof answer['next_cursor'] === 'string' ? `\nMore: --starting-after ${answer['next_cursor']}` : '';
  return rows.length === 0 ? 'Nothing.' : `${table(rows.filter(isFields))}${more}`;
};
