import { isPlainObject } from '../../domain/plain-object.js';

type Fields = Readonly<Record<string, unknown>>;

/** Replaces control characters: text from clients must not control the operator's terminal. */
const withoutControls = (text: string): string =>
  text.replaceAll(/\p{Cc}/gu, (character) => (character === '\n' ? ' ↵ ' : '\ufffd'));

/**
 * A value on one line, without the null fields of an object. Of a list of objects, the number and the last
 * one.
 */
const oneLine = (value: unknown): string => {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) {
    const entries: readonly unknown[] = value;
    if (entries.length === 0) return 'none';
    return isPlainObject(entries[0])
      ? `${entries.length}: ${oneLine(entries.at(-1))}`
      : entries.map(oneLine).join(', ');
  }
  if (typeof value === 'string') return withoutControls(value);
  if (!isPlainObject(value)) return JSON.stringify(value);
  const known = Object.entries(value).filter(([, inside]) => inside !== null);
  return (
    known
      .map(([name, inside]) => `${name}: ${isPlainObject(inside) ? `(${oneLine(inside)})` : oneLine(inside)}`)
      .join(', ') || '–'
  );
};

const widest = 60;
const truncate = (text: string): string => (text.length > widest ? `${text.slice(0, widest - 1)}…` : text);

const rowsIn = (value: unknown): readonly Fields[] | null => {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  return entries.length > 0 && entries.every(isPlainObject) ? entries : null;
};

/** A row with its attempts counted; its error is that of the last one. */
const withLastAttempt = (row: Fields): Fields => {
  const attempts = rowsIn(row['attempts']);
  if (attempts === null) return row;
  const { http_status: status = null, error = null } = attempts.at(-1) ?? {};
  const last = status === null ? '' : `, last ${oneLine(status)}`;
  return { error, ...row, attempts: `${attempts.length}${last}` };
};

/** An endpoint that names no types of events gets all. */
const withAllEvents = (fields: Fields): Fields => {
  const isOfAll = fields['object'] === 'webhook_endpoint' && oneLine(fields['events']) === 'none';
  return isOfAll ? { ...fields, events: 'all' } : fields;
};

/** A table with the errors in its last column, however long they are. */
const table = (listed: readonly Fields[]): string => {
  const rows = listed.map(withAllEvents).map(withLastAttempt);
  const hasErrors = rows.some(({ error = null }) => error !== null);
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (column) => column !== 'object' && column !== 'error',
  );
  const cells = (row: Fields): readonly string[] => [
    ...columns.map((column) => truncate(oneLine(row[column]))),
    ...(hasErrors ? [oneLine(row['error'])] : []),
  ];
  const lines = [[...columns, ...(hasErrors ? ['error'] : [])], ...rows.map(cells)];
  const widths = (lines[0] ?? []).map((_, index) =>
    Math.max(...lines.map((line) => line[index]?.length ?? 0)),
  );
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
  return names
    .map((name) => {
      const rows = rowsIn(fields[name]);
      return rows === null
        ? `${name.padEnd(width)}  ${oneLine(fields[name])}`
        : `${name}\n${table(rows).replaceAll(/^/gm, '  ')}`;
    })
    .join('\n');
};

/** A response of the API in readable form: a list as a table, anything else field by field. */
export const readable = (text: string): string => {
  if (text === '') return 'Done.';
  const body: unknown = JSON.parse(text);
  if (!isPlainObject(body)) return text;
  if (body['object'] !== 'list' || !Array.isArray(body['data'])) return lines(withAllEvents(body));
  const rows: readonly unknown[] = body['data'];
  const more =
    typeof body['next_cursor'] === 'string' ? `\nMore: --starting-after ${body['next_cursor']}` : '';
  return rows.length === 0 ? 'Nothing found.' : `${table(rows.filter(isPlainObject))}${more}`;
};
