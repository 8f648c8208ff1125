import type { WaitingRow } from '../../../application/contacts/waiting-rows.js';
import { isPlainObject } from '../../../domain/plain-object.js';
import { Table } from '../web/parts.js';
import { contactLabels } from './contact-form.js';

type Cells = ReadonlyMap<string, string>;

/** The fields of a contact as it was sent, including its address. */
const cellsOf = (contact: Readonly<Record<string, unknown>>): Cells =>
  new Map(
    Object.entries(contact).flatMap(([name, value]): readonly (readonly [string, string])[] => {
      if (isPlainObject(value)) return [...cellsOf(value)];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );

/** A file's field under its label in the contact form, where fields of the address have no prefix. */
const labelOf = (name: string): string => contactLabels[name] ?? contactLabels[`address.${name}`] ?? name;

/** Rows of a file that wait, one column for each field that was found in them. */
export const ImportRows = ({ rows }: { readonly rows: readonly WaitingRow[] }) => {
  const shown = rows.map((row) => ({
    line: row.line,
    cells: 'contact' in row ? cellsOf(row.contact) : new Map([['Not saved', row.problem]]),
  }));
  const names = new Set(shown.flatMap(({ cells }) => [...cells.keys()]));
  return (
    <Table
      label="The next rows"
      rows={shown}
      columns={[
        { name: 'Line', kind: 'head', cell: ({ line }) => String(line) },
        ...[...names].map((name) => ({
          name: labelOf(name),
          cell: ({ cells }: { cells: Cells }) => cells.get(name) ?? '',
        })),
      ]}
    />
  );
};
