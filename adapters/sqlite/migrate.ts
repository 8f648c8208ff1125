import { DatabaseSync } from '@photostructure/sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory, numberFrom, openForWriting, type Database } from './database.js';
import { assertWhole } from './verification/verification.js';
import { openOperationSets } from './writer/operations.js';

/** Hears which index is being made, and how many rows the table has. */
export type IndexReport = (index: {
  readonly table: string;
  readonly name: string;
  readonly rows: number;
}) => void;

interface Index {
  readonly name: string;
  readonly table: string;
  readonly sql: string;
}

/** Those that a statement made. */
const indexesOf = (database: Database): readonly Index[] => {
  const rows: readonly Index[] = database
    .prepare(
      'select name, tbl_name as "table", sql from sqlite_master where type = \'index\' and sql is not null order by rowid',
    )
    .all();
  return rows;
};

const wantedIndexes = (): readonly Index[] => {
  const database = new DatabaseSync(':memory:');
  try {
    openOperationSets(database, () => undefined);
    return indexesOf(database);
  } finally {
    database.close();
  }
};

const isTable = (database: Database, name: string): boolean =>
  numberFrom(database.prepare("select 1 from sqlite_master where type = 'table' and name = ?"), name) !==
  null;

/**
 * Gives the tables of events.db the indexes and columns that an older version of the service did not know;
 * the start of this version would do the same, in silence. False if there is no such file yet. Throws
 * DataDirectoryInUse while a service is running on it, and DamagedLog.
 */
export const migrateDirectory = (directory: string, report: IndexReport): boolean => {
  const path = join(directory, 'events.db');
  if (!existsSync(path)) return false;
  const lock = lockDirectory(directory);
  try {
    assertWhole(path);
    const database = openForWriting(path);
    try {
      const there = new Set(indexesOf(database).map(({ name }) => name));
      for (const { name, table, sql } of wantedIndexes()) {
        if (there.has(name) || !isTable(database, table)) continue;
        report({ table, name, rows: numberFrom(database.prepare(`select count(*) from ${table}`)) ?? 0 });
        database.exec(sql);
      }
      openOperationSets(database, () => undefined);
    } finally {
      database.close();
    }
  } finally {
    lock.release();
  }
  return true;
};
