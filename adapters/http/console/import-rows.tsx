import type { WaitingRow } from '../../../application/waiting-rows.js';
import { isPlainObject } from '../../../domain/plain-object.js';
import { Table } from '../web/parts.js';

type Cells = ReadonlyMap<string, string>;

/** The fields of a contact as it was sent, those of its address among them. */
const cellsOf = (contact: Readonly<Record<string, unknown>>): Cells =>
  new Map(
    Object.entries(contact).flatMap(([name, value]): readonly (readonly [string, string])[] => {
      if (isPlainObject(value)) return [...cellsOf(value)];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );

/** Rows of a file that wait, one column for each field that was found in them. */
export const ImportRows = ({ rows }: { readonly rows: readonly WaitingRow[] }) => {
  const shown = rows.map((row) => ({
    line: row.line,
    cells: 'contact' in row ? cellsOf(row.contact) : new Map([['not saved', row.problem]]),
  }));
  const names = new Set(shown.flatMap(({ cells }) => [...cells.keys()]));
  return (
    <Table
      label="The next rows"
      rows={shown}
      columns={[
        { name: 'line', kind: 'head', cell: ({ line }) => String(line) },
        ...[...names].map((name) => ({ name, cell: ({ cells }: { cells: Cells }) => cells.get(name) ?? '' })),
      ]}
    />
  );
};
