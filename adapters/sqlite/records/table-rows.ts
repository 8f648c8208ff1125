import { openForWriting, type Database } from '../database.js';

type TableRow = Readonly<Record<string, unknown>>;

const readAtOnce = 1_000;

/** The rows of a table as they are stored; a delivery also with whether its card was erased. */
export function* tableRows(database: Database, table: string): Generator<TableRow> {
  const erased = ', exists (select 1 from erased_cards e where e.card = t.card) as erased';
  const page = database.prepare(
    `select *${table === 'deliveries' ? erased : ''} from ${table} t limit ${readAtOnce} offset ?`,
  );
  for (let from = 0; ; from += readAtOnce) {
    const rows: readonly TableRow[] = page.all(from);
    yield* rows;
    if (rows.length < readAtOnce) return;
  }
}

/** Times are stored in milliseconds since 1970, objects as JSON. */
const storable = (value: unknown): string | number | bigint | null => {
  if (value instanceof Date) return value.getTime();
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
  return value === undefined || value === null ? null : JSON.stringify(value);
};

/** Puts other rows in the place of all rows of some tables of events.db, in one transaction. */
export const replaceRows = async (
  path: string,
  tables: Iterable<readonly [table: string, rows: AsyncIterable<TableRow>]>,
): Promise<void> => {
  const database = openForWriting(path);
  try {
    database.exec('begin immediate');
    for (const [table, rows] of tables) {
      database.exec(`delete from ${table}`);
      const found = database.prepare(`pragma table_info(${table})`).all() as readonly { name: string }[];
      const columns = found.map(({ name }) => name);
      const insert = database.prepare(`insert into ${table} values (${columns.map(() => '?').join()})`);
      for await (const row of rows) insert.run(...columns.map((name) => storable(row[name])));
    }
    database.exec(`delete from request_subjects;
      insert or ignore into request_subjects (id, subject, at, org)
        select r.id, s.value, r.at, r.record ->> '$.org' from requests r, json_each(r.record, '$.subjects') s;
      commit`);
  } finally {
    database.close();
  }
};
