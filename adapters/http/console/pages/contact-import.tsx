import {
  badLinesOf,
  findImport,
  type FoundImport,
  nextRows,
  stopImport,
} from '../../../../application/contacts/imports.js';
import type { WaitingRow } from '../../../../application/contacts/waiting-rows.js';
import { isPlainObject } from '../../../../domain/plain-object.js';
import { csvOf, csvRows } from '../../server/csv.js';
import { Form } from '../../web/form.js';
import { count, Facts, Table, Time } from '../../web/parts.js';
import { existing } from '../admit.js';
import { contactLabels, ImportState } from '../contact-parts.js';
import { filePage, go, type OrgContext, page } from '../page.js';

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
const ImportRows = ({ rows }: { readonly rows: readonly WaitingRow[] }) => {
  const shown = rows.map((row) => ({
    line: row.line,
    cells: 'contact' in row ? cellsOf(row.contact) : new Map([['Not saved', row.problem]]),
  }));
  const cellOf = (name: string) => (row: { readonly cells: Cells }) => row.cells.get(name) ?? '';
  const names = new Set(shown.flatMap(({ cells }) => [...cells.keys()]));
  return (
    <Table
      label="The next rows"
      rows={shown}
      columns={{
        Line: ({ line }) => line,
        ...Object.fromEntries([...names].map((name) => [labelOf(name), cellOf(name)])),
      }}
    />
  );
};

const loadImport = async ({ deps, org, params }: OrgContext): Promise<FoundImport> =>
  existing(await findImport(deps, org, params['import'] ?? ''));

export const contactImportPage = page({
  path: 'contactImport',
  may: 'contacts.write',
  query: ['done'],
  load: async (context) => {
    const found = await loadImport(context);
    return { found, rows: await nextRows(context.deps, found) };
  },
  title: ({ found }) => `Import of ${found.file}`,
  heading: ({ found }, { url }) => ({
    above: ['Contacts', url('contacts')],
    below: (
      <>
        <a href={url('importContacts')}>Import</a> › {found.file}
      </>
    ),
  }),
  view: ({ found, rows: waiting }, { url, self }) => {
    const { id, at, status, why, rows, through, created, updated, same, bad, unread } = found;
    return (
      <>
        <section id="progress" class="panel" aria-label="Progress" data-refresh>
          <p class="figure">
            <strong>{count(through)}</strong> of {count(rows)} rows <ImportState status={status} />
          </p>
          <p>
            <progress max={Math.max(rows, 1)} value={rows === 0 ? 1 : through} aria-label="Rows processed" />
          </p>
          <Facts
            of={{
              New: count(created),
              Replaced: count(updated),
              Unchanged: count(same),
              'Bad lines': (
                <>
                  {count(bad)}{' '}
                  {bad === 0 ? null : (
                    <a href={url('badLines', { import: id })}>Download them with their reasons, as CSV</a>
                  )}
                </>
              ),
              Started: <Time at={at} />,
            }}
          />
          {why === null ? null : <p class="alert">{why}</p>}
          {status === 'running' ? (
            <>
              <p>
                It continues even if you leave this page. <a href={self}>Look again</a>
              </p>
              <Form action="stop" kind="second" button="Stop the import" />
            </>
          ) : null}
        </section>
        {waiting.length === 0 ? null : (
          <>
            <h2>How the file was understood</h2>
            <p class="quiet">The next rows, each cell below the field that it is saved in.</p>
            <ImportRows rows={waiting} />
          </>
        )}
        {Object.keys(unread).length === 0 ? null : (
          <Table
            label="Columns that are not read"
            rows={Object.entries(unread)}
            columns={{ Column: ([column]) => column, Why: ([, reason]) => reason }}
          />
        )}
        <p class="quiet">Imports are shown for 7 days.</p>
      </>
    );
  },
  actions: {
    stop: async (context) => {
      const { id } = await loadImport(context);
      const { deps, org, url } = context;
      const isStopped = await stopImport(deps, org, id);
      return go(url('contactImport', { import: id }, isStopped ? { done: 'importStopped' } : {}));
    },
  },
});

const columns = ['line', 'reason'] as const;

async function* badLinesAsCsv(deps: OrgContext['deps'], found: FoundImport): AsyncGenerator<string> {
  yield csvOf(columns, []);
  for await (const lines of badLinesOf(deps, found)) yield csvRows(columns, lines);
}

/** The lines of a file that were not saved, and why. */
export const badLinesCsv = filePage({ path: 'badLines', may: 'contacts.write' }, async (context) => ({
  type: 'text/csv; charset=utf-8',
  headers: { 'content-disposition': 'attachment; filename="bad-lines.csv"' },
  lines: badLinesAsCsv(context.deps, await loadImport(context)),
}));
